package bpstat

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"bproc/internal/client"
)

// jsonNode is a node for other programs. Names and meanings must not change.
type jsonNode struct {
	Number       client.NodeID `json:"number"`
	Name         string        `json:"name"`
	Address      string        `json:"address,omitempty"`
	Status       string        `json:"status"`
	Reason       string        `json:"reason,omitempty"` // for this status
	Since        time.Time     `json:"since"`            // of the last change of status
	Mode         string        `json:"mode"`             // octal
	User         string        `json:"user"`
	UID          uint32        `json:"uid"`
	Group        string        `json:"group"`
	GID          uint32        `json:"gid"`
	Trust        string        `json:"trust,omitempty"`
	Processes    uint32        `json:"processes"`
	Kernel       string        `json:"kernel,omitempty"`
	Architecture string        `json:"architecture,omitempty"`
	CPUs         uint32        `json:"cpus,omitempty"`
	Cores        uint32        `json:"cores,omitempty"`
	Sockets      uint32        `json:"sockets,omitempty"`
	GPUs         uint32        `json:"gpus,omitempty"`
	Memory       uint64        `json:"memory,omitempty"` // bytes

	Tags       []string          `json:"tags,omitempty"` // set by an administrator
	Attributes map[string]string `json:"attributes,omitempty"`
}

type jsonProc struct {
	PID  client.PID    `json:"pid"`
	Node client.NodeID `json:"node"`
}

func (s *Stat) jsonNode(n *client.Node) jsonNode {
	j := jsonNode{
		Number: n.ID, Name: n.Name, Status: n.State, Reason: n.Reason, Since: time.Unix(n.Since, 0).UTC(),
		Mode: fmt.Sprintf("%04o", n.Mode&0o111), User: s.Names.User(n.UID), UID: n.UID, Group: s.Names.Group(n.GID), GID: n.GID,
		Trust: n.Trust, Processes: n.Procs, Kernel: n.Kernel, Architecture: n.Arch, CPUs: n.CPUs, Memory: n.Memory,
		Cores: n.Cores, Sockets: n.Sockets, GPUs: n.GPUs,
	}
	for _, l := range n.Labels {
		if name, value, ok := strings.Cut(l, "="); !ok {
			j.Tags = append(j.Tags, name)
		} else {
			if j.Attributes == nil {
				j.Attributes = map[string]string{}
			}
			j.Attributes[name] = value
		}
	}
	if n.Addr != "" {
		j.Address = host(n)
	}
	return j
}

// printNodesJSON prints a form of the node table as JSON: a number or a list.
func (s *Stat) printNodesJSON(out io.Writer, o *options, nodes []client.Node) error {
	if o.total {
		return encode(out, o, len(nodes))
	}
	list := make([]any, len(nodes))
	for i := range nodes {
		j := s.jsonNode(&nodes[i])
		switch {
		case o.number:
			list[i] = j.Number
		case o.status:
			list[i] = j.Status
		case o.address:
			list[i] = j.Address
		default:
			list[i] = j
		}
	}
	return encode(out, o, list)
}

// encode prints a value as JSON, with -U on one line.
func encode(out io.Writer, o *options, value any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if !o.update {
		e.SetIndent("", "  ")
	}
	return e.Encode(value)
}

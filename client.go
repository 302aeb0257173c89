package bproc

import (
	"context"
	"time"

	"bproc/internal/client"
)

// NodeID is the number of a node.
type NodeID int32

// FrontEnd is the number of the front end.
const FrontEnd = NodeID(client.FrontEnd)

// PID is a process number. It is valid in the whole cluster.
type PID int32

// Client connects to the master of this machine. The zero value is ready to use, and safe
// for use by several goroutines. Each request and each command has its own connection.
type Client struct {
	Socket    string // of the master; empty: $BPROC_SOCKET, or /run/bproc/master.sock
	GhostPath string // program that ghosts execute; empty: the installed one
}

func (c *Client) internal() *client.Client { return (*client.Client)(c) }

// Node is a line of the node table.
type Node struct {
	ID     NodeID
	Name   string
	State  string // "up", "down", or a state that an administrator has set
	Mode   uint32 // who may start processes there: bits 0111
	UID    uint32 // owner of the node
	GID    uint32
	Addr   string    // of its daemon's connection; empty if there is none
	Procs  int       // number of processes there
	Since  time.Time // of the last change of State
	Kernel string
	Arch   string
	CPUs   int
	Memory uint64   // bytes
	Labels []string // tags and attributes that an administrator has set: "gpu", "rack=4"
}

// Nodes returns the node table, in order of node numbers.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	list, err := c.internal().Nodes(ctx)
	if err != nil {
		return nil, exported(err)
	}
	nodes := make([]Node, len(list))
	for i, n := range list {
		nodes[i] = Node{
			ID: NodeID(n.ID), Name: n.Name, State: n.State, Mode: n.Mode, UID: n.UID, GID: n.GID, Addr: n.Addr,
			Procs: int(n.Procs), Since: time.Unix(n.Since, 0), Kernel: n.Kernel, Arch: n.Arch, CPUs: int(n.CPUs), Memory: n.Memory, Labels: n.Labels,
		}
	}
	return nodes, nil
}

// Resolve returns the nodes that a specification names, such as "0-4,7", "up" or "!down".
// bpsh(1) describes the language.
func (c *Client) Resolve(ctx context.Context, spec string) ([]NodeID, error) {
	list, err := c.internal().Resolve(ctx, spec)
	if err != nil {
		return nil, exported(err)
	}
	ids := make([]NodeID, len(list))
	for i, id := range list {
		ids[i] = NodeID(id)
	}
	return ids, nil
}

// Proc is a process on a node.
type Proc struct {
	PID  PID
	Node NodeID
}

// Procs returns the processes on all nodes, in order of their numbers.
func (c *Client) Procs(ctx context.Context) ([]Proc, error) {
	list, err := c.internal().Procs(ctx)
	if err != nil {
		return nil, exported(err)
	}
	procs := make([]Proc, len(list))
	for i, p := range list {
		procs[i] = Proc{PID: PID(p.PID), Node: NodeID(p.Node)}
	}
	return procs, nil
}

// NodeChange is a change of a line of the node table. A nil field stays as it is.
type NodeChange struct {
	State *string // "down" disconnects the node when the ends of its processes are known, after five seconds at the latest; the node carries out "reboot", "halt" and "pwroff"
	Mode  *uint32 // who may start processes there: bits 0111
	UID   *uint32
	GID   *uint32
	Trust *string // "full" or "limited": how far the node is believed (bproc(7))
	Drain *bool   // no new processes are started there

	Set    []string // tags and attributes, "gpu", "rack=4", which replace those of the same names
	Remove []string // names of tags and attributes
}

// SetNode changes a line of the node table. Most changes need root.
func (c *Client) SetNode(ctx context.Context, node NodeID, change NodeChange) error {
	return exported(c.internal().SetNode(ctx, client.NodeID(node), client.NodeChange(change)))
}

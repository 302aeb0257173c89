package bpcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/copy/agent"
	"bproc/internal/copy/source"
	"bproc/internal/copy/stream"
)

// plan describes a copy.
type plan struct {
	sources []sending
	targets []client.NodeID
	receive agent.Receive
	table   map[client.NodeID]client.Node
}

// sending describes what one machine sends.
type sending struct {
	node client.NodeID
	send agent.Send
}

// tableTimeout bounds the request for the node table.
const tableTimeout = 10 * time.Second

// plan determines the machines and the paths of the copy.
func (c *Copier) plan(ctx context.Context, o *options) (*plan, error) {
	table, err := c.nodes(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &plan{table: map[client.NodeID]client.Node{}}
	for _, n := range table {
		p.table[n.ID] = n
	}
	if p.targets, err = machines(o.target, table); err != nil {
		return nil, err
	}
	dir, _ := os.Getwd()         // a transfer with a relative path fails without it
	names := map[string]string{} // operands by the names of their copies
	copies := 0
	for _, op := range o.sources {
		from, err := machines(op, table)
		if err != nil {
			return nil, err
		}
		copies += len(from)
		for _, node := range from {
			suffix := ""
			if len(from) > 1 {
				suffix = fmt.Sprintf(".%d", node)
			}
			name := source.Name(dir, op.path, suffix)
			if len(name) > unix.NAME_MAX {
				return nil, fmt.Errorf("%s: %w", name, unix.ENAMETOOLONG)
			}
			if err := clash(names, op, name); err != nil {
				return nil, err
			}
			p.add(node, op.path, name, agent.Send{Recursive: o.recursive, Xattrs: o.preserve})
		}
	}
	p.receive = agent.Receive{Path: agent.Name(o.target.path), Recursive: o.recursive, Many: copies > 1, Preserve: o.preserve}
	return p, nil
}

// add adds a path and the name of its copy to what a machine sends.
func (p *plan) add(node client.NodeID, path, name string, send agent.Send) {
	for i := range p.sources {
		if s := &p.sources[i]; s.node == node {
			s.send.Paths, s.send.Names = append(s.send.Paths, path), append(s.send.Names, name)
			return
		}
	}
	send.Paths, send.Names = []string{path}, []string{name}
	p.sources = append(p.sources, sending{node, send})
}

// clash returns an error if the copy of another operand has the same name.
func clash(names map[string]string, op operand, name string) error {
	if name == stream.Here {
		return nil // the contents are copied, not the directory
	}
	if other, taken := names[name]; taken {
		return fmt.Errorf("%s and %s would both be copied to %s", other, op.text, name)
	}
	names[name] = op.text
	return nil
}

// nodes returns the node table, if an operand names nodes.
func (c *Copier) nodes(ctx context.Context, o *options) ([]client.Node, error) {
	if !slices.ContainsFunc(append(o.sources, o.target), func(op operand) bool { return op.nodes != "" }) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tableTimeout, errors.New("the master does not answer"))
	defer cancel()
	return c.Client.Nodes(ctx)
}

// machines returns the machines that an operand names, each once.
func machines(op operand, table []client.Node) ([]client.NodeID, error) {
	if op.nodes == "" {
		return []client.NodeID{client.FrontEnd}, nil
	}
	ids, err := client.Resolve(op.nodes, table)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s: no node is meant by %q", op.text, op.nodes)
	}
	var once []client.NodeID
	for _, id := range ids {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return once, nil
}

package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"

	"bproc/nodeset"
	"bproc/wire"
)

// Nodes returns the node table, in order of node numbers. On a node, where there is no master,
// the daemon of the node is asked.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	nodes, _, err := c.NodesSeen(ctx)
	if errors.Is(err, unix.ENOENT) && c.socket() == DefaultSocket && hereIsNode() {
		nodes, _, err = (&Client{Socket: NodeSocket}).NodesSeen(ctx)
	}
	return nodes, err
}

// hereIsNode reports whether the daemon of a node runs on this machine.
func hereIsNode() bool { return unix.Access(NodeSocket, unix.W_OK) == nil }

// NodesSeen is Nodes for a client that may be on a node, whose daemon it asks: here is that
// node, or nil on the front end.
func (c *Client) NodesSeen(ctx context.Context) (nodes []Node, here *NodeID, err error) {
	for again := newRetries(restartTime); ; {
		list, err := ask[*wire.NodeList](ctx, c, &wire.ListNodes{Version: wire.Version})
		switch {
		case err == nil:
			return list.Nodes, list.Here, nil
		case !errors.Is(err, ErrLost) || !again.pause(ctx.Done()): // else the next master is asked
			return nil, nil, err
		}
	}
}

// Resolve returns the nodes that a specification means, in the language of
// package nodeset. Plain numbers are not looked up.
func (c *Client) Resolve(ctx context.Context, spec string) ([]NodeID, error) {
	set, err := nodeset.Parse(spec)
	if err != nil {
		return nil, err
	}
	if ids, ok := set.Numbers(); ok {
		return ids, nil
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return resolve(set, nodes)
}

// Resolve returns the nodes of a table that a specification means.
func Resolve(spec string, nodes []Node) ([]NodeID, error) {
	set, err := nodeset.Parse(spec)
	if err != nil {
		return nil, err
	}
	return resolve(set, nodes)
}

func resolve(set nodeset.Set, nodes []Node) ([]NodeID, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name: %w", err)
	}
	return set.Resolve(nodeset.Table{Nodes: nodes, Host: host, Random: rand.IntN})
}

// Procs returns the processes on nodes, in order of their numbers.
func (c *Client) Procs(ctx context.Context) ([]Proc, error) {
	list, err := ask[*wire.ProcList](ctx, c, &wire.ListProcs{Version: wire.Version})
	if err != nil {
		return nil, err
	}
	return list.Procs, nil
}

// NodeChange says what to change in a line of the node table. A nil field stays
// as it is.
type NodeChange struct {
	State *string // a node that is set down is disconnected when the ends of its processes are known, after five seconds at the latest; "reboot", "halt" and "pwroff" are done there
	Mode  *uint32 // who may start processes there: bits 0111
	UID   *uint32
	GID   *uint32
	Trust *string // "full" or "limited": how far the node is believed
	Drain *bool   // nothing new is started there

	Set    []string // tags and attributes, such as gpu or rack=4, in place of those of the same names
	Remove []string // names of tags and attributes
}

// SetNode changes a line of the node table, as SetNodes does many.
func (c *Client) SetNode(ctx context.Context, node NodeID, change NodeChange) error {
	failed, err := c.SetNodes(ctx, []NodeID{node}, change)
	return cmp.Or(err, failed[node])
}

// SetNodes changes lines of the node table, all in one step. Most changes need root. It returns why some are not changed. What
// fails on one node is not the end for the others, but for an error.
func (c *Client) SetNodes(ctx context.Context, nodes []NodeID, change NodeChange) (failed map[NodeID]error, err error) {
	set, err := ask[*wire.NodesSet](ctx, c, &wire.SetNodes{
		Version: wire.Version, Nodes: nodes,
		State: change.State, Mode: change.Mode, UID: change.UID, GID: change.GID, Trust: change.Trust, Drain: change.Drain, Set: change.Set, Remove: change.Remove,
	})
	if err != nil {
		return nil, err
	}
	failed = map[NodeID]error{}
	for _, f := range set.Failed {
		failed[f.ID] = &Error{Node: f.ID, Stage: wire.StageNode, Errno: unix.Errno(f.Errno), Text: f.Text}
	}
	return failed, nil
}

// Numbers returns how process numbers are used.
func (c *Client) Numbers(ctx context.Context) (*Numbers, error) {
	list, err := ask[*wire.NumberList](ctx, c, &wire.ListNumbers{Version: wire.Version})
	if err != nil {
		return nil, fmt.Errorf("process numbers: %w", err)
	}
	return list, nil
}

// Revoke has a node put out of the cluster at once: its processes end, and its identity is not
// good any more. It needs root.
func (c *Client) Revoke(ctx context.Context, node NodeID) error {
	_, err := ask[*wire.Done](ctx, c, &wire.Revoke{Version: wire.Version, Node: node})
	return onNode(err, node)
}

package client

import (
	"context"
	"fmt"
	"os"
	"time"

	"bproc/nodeset"
	"bproc/wire"
)

// Nodes returns the node table, in order of node numbers.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	nodes, _, err := c.NodesSeen(ctx)
	return nodes, err
}

// NodesSeen is Nodes for a client that may be on a node, whose daemon it asks: here is that
// node, or nil on the front end.
func (c *Client) NodesSeen(ctx context.Context) (nodes []Node, here *NodeID, err error) {
	list, err := ask[*wire.NodeList](ctx, c, &wire.ListNodes{Version: wire.Version})
	if err != nil {
		return nil, nil, err
	}
	return list.Nodes, list.Here, nil
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
	return set.Resolve(nodeset.Table{Nodes: nodes, Host: host})
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
	State *string // a node that is set down is disconnected as soon as its processes have ended
	Mode  *uint32 // who may start processes there: bits 0111
	UID   *uint32
	GID   *uint32
	Trust *string // "full" or "limited": how far the node is believed
}

// SetNode changes a line of the node table. Most changes need root.
func (c *Client) SetNode(ctx context.Context, node NodeID, change NodeChange) error {
	_, err := ask[*wire.Done](ctx, c, &wire.SetNode{
		Version: wire.Version, Node: node,
		State: change.State, Mode: change.Mode, UID: change.UID, GID: change.GID, Trust: change.Trust,
	})
	return onNode(err, node)
}

// Revoke has a node put out of the cluster at once: its processes end, and its identity is not
// good any more. It needs root.
func (c *Client) Revoke(ctx context.Context, node NodeID) error {
	_, err := ask[*wire.Done](ctx, c, &wire.Revoke{Version: wire.Version, Node: node})
	return onNode(err, node)
}

// Enrolment says what a join token is for.
type Enrolment struct {
	Node NodeID        // number of the node; negative: the next free one
	Name string        // name of the node; empty: the host name of its slave
	TTL  time.Duration // how long the token can be used
}

// Enroll returns a token with which one slave can join the cluster, and the
// time at which it expires. It needs root.
func (c *Client) Enroll(ctx context.Context, e Enrolment) (token string, expires time.Time, err error) {
	t, err := ask[*wire.Token](ctx, c, &wire.Enroll{
		Version: wire.Version, Node: e.Node, Name: e.Name, Seconds: uint32(e.TTL / time.Second),
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return t.Token, time.Unix(t.Expires, 0), nil
}

package nodeset

import (
	"fmt"
	"net/netip"
	"strings"

	"bproc/wire"
)

// Table is what names and states are looked up in.
type Table struct {
	Nodes []wire.Node // in order of numbers
	Host  string      // host name of the front end
}

// Numbers returns the nodes of a set that consists of single numbers. Only such
// a set can do without a table.
func (s Set) Numbers() (ids []wire.NodeID, ok bool) {
	for _, t := range s.terms {
		n, single := t.(number)
		if !single {
			return nil, false
		}
		ids = append(ids, wire.NodeID(n))
	}
	return ids, true
}

// Resolve returns the nodes that are meant.
func (s Set) Resolve(t Table) ([]wire.NodeID, error) {
	var ids []wire.NodeID
	for _, term := range s.terms {
		var err error
		if ids, err = term.pick(ids, t); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (t Table) where(ids []wire.NodeID, match func(*wire.Node) bool) []wire.NodeID {
	for i := range t.Nodes {
		if match(&t.Nodes[i]) {
			ids = append(ids, t.Nodes[i].ID)
		}
	}
	return ids
}

func (n number) pick(ids []wire.NodeID, _ Table) ([]wire.NodeID, error) {
	return append(ids, wire.NodeID(n)), nil
}

func (r span) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	return t.where(ids, func(n *wire.Node) bool { return n.ID >= r.first && n.ID <= r.last }), nil
}

func (all) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	return t.where(ids, func(*wire.Node) bool { return true }), nil
}

func (n negate) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	return t.where(ids, func(node *wire.Node) bool { return node.State != string(n) }), nil
}

// pick takes a word for a name before it takes it for a state. A state must be
// one that exists, so that a misspelt name does not turn into all the nodes
// that are not in state "ebook7".
func (w word) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	named := t.where(nil, func(n *wire.Node) bool { return n.Name == string(w) || isAddr(n.Addr, string(w)) })
	switch {
	case len(named) > 0:
		return append(ids, named...), nil
	case string(w) == t.Host:
		return append(ids, wire.FrontEnd), nil
	}
	rest := strings.TrimPrefix(string(w), "all")
	if t.isState(rest) {
		return t.where(ids, func(n *wire.Node) bool { return n.State == rest }), nil
	}
	if state, ok := strings.CutPrefix(rest, "not"); ok && t.isState(state) {
		return negate(state).pick(ids, t)
	}
	return nil, fmt.Errorf("node %s: no such node, and no such state", w)
}

// isAddr reports whether host is the address of a connection from addr.
func isAddr(addr, host string) bool {
	want, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	have, err := netip.ParseAddrPort(addr)
	return err == nil && have.Addr().Unmap() == want.Unmap()
}

// states are those that the original has.
var states = map[string]bool{
	"up": true, "down": true, "boot": true, "error": true,
	"unavailable": true, "reboot": true, "halt": true, "pwroff": true,
}

func (t Table) isState(s string) bool {
	return states[s] || len(t.where(nil, func(n *wire.Node) bool { return s != "" && n.State == s })) > 0
}

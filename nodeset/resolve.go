package nodeset

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"bproc/internal/onscreen"
	"bproc/wire"
)

// Table is the table in which names and states are looked up.
type Table struct {
	Nodes []wire.Node // in order of numbers
	Host  string      // host name of the front end

	// Random returns a random number from 0 to n-1. It is needed only for random elements.
	Random func(n int) int

	index *index // made by Resolve
}

// index finds nodes by the meanings of a word: a list may have the name of each node of a cluster.
// It is filled when a word is looked up.
type index struct {
	byName map[string][]wire.NodeID
	byAddr map[netip.Addr][]wire.NodeID
}

func (x *index) fill(nodes []wire.Node) {
	x.byName, x.byAddr = map[string][]wire.NodeID{}, map[netip.Addr][]wire.NodeID{}
	for i := range nodes {
		n := &nodes[i]
		x.byName[n.Name] = append(x.byName[n.Name], n.ID)
		if at, err := netip.ParseAddrPort(n.Addr); err == nil { // it is connected
			x.byAddr[at.Addr().Unmap()] = append(x.byAddr[at.Addr().Unmap()], n.ID)
		}
	}
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

// IsNameOf reports whether a node with this number can be called by a name: n7 is number 7, and up a
// state, whatever the name of that node is.
func IsNameOf(name string, id wire.NodeID) bool {
	set, err := Parse(name)
	if err != nil || len(set.terms) != 1 {
		return false
	}
	n, isNumber := set.terms[0].(number)
	w, isWord := set.terms[0].(word)
	return isWord && !w.meansState() || isNumber && wire.NodeID(n) == id
}

// Resolve returns the nodes that the set means.
func (s Set) Resolve(t Table) ([]wire.NodeID, error) {
	if t.index == nil {
		t.index = new(index)
	}
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
	not, err := meant(n.of, t)
	if err != nil {
		return nil, err
	}
	return t.where(ids, func(node *wire.Node) bool { return !not[node.ID] }), nil
}

// meant returns the nodes that a term means.
func meant(of term, t Table) (map[wire.NodeID]bool, error) {
	ids, err := of.pick(nil, t)
	if err != nil {
		return nil, err
	}
	is := make(map[wire.NodeID]bool, len(ids))
	for _, id := range ids {
		is[id] = true
	}
	return is, nil
}

func (b both) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	begin := len(ids)
	ids, err := b.terms[0].pick(ids, t)
	if err != nil {
		return nil, err
	}
	for _, term := range b.terms[1:] {
		too, err := meant(term, t)
		if err != nil {
			return nil, err
		}
		rest := slices.DeleteFunc(ids[begin:], func(id wire.NodeID) bool { return !too[id] })
		ids = ids[:begin+len(rest)]
	}
	return ids, nil
}

func (g group) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	more, err := g.set.Resolve(t)
	return append(ids, more...), err
}

// pick chooses nodes, each once, and keeps their order.
func (r random) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	some, err := r.of.pick(nil, t)
	if err != nil {
		return nil, err
	}
	seen := map[wire.NodeID]bool{}
	some = slices.DeleteFunc(some, func(id wire.NodeID) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
	if len(some) < r.count {
		return nil, fmt.Errorf("%s: there are only %d of these nodes", r, len(some))
	}
	for left, need := len(some), r.count; left > 0; left-- { // each has the same chance, in one pass
		if t.Random(left) < need {
			ids = append(ids, some[len(some)-left])
			need--
		}
	}
	return ids, nil
}

func (name tagged) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	return t.where(ids, func(n *wire.Node) bool { _, ok := label(n, string(name)); return ok }), nil
}

func (c compared) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	return t.where(ids, func(n *wire.Node) bool {
		value, ok := attribute(n, c.name)
		return ok && holds(compare(value, c.value), c.op)
	}), nil
}

// meansState reports whether a word means nodes in a state that every cluster has, or not in it. No
// machine can change that by what it calls itself.
func (w word) meansState() bool {
	rest := strings.TrimPrefix(string(w), "all")
	return states[rest] || states[strings.TrimPrefix(rest, "not")]
}

// pick takes a word for the front end's host name first, and for a name before it takes it for a state of an administrator. That must exist, so
// that a misspelt name does not turn into all the nodes that are not in state "ebook7".
func (w word) pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error) {
	if !w.meansState() {
		if string(w) == t.Host {
			return append(ids, wire.FrontEnd), nil
		}
		if named, err := t.named(w); len(named) > 0 || err != nil {
			return append(ids, named...), err
		}
	}
	rest := strings.TrimPrefix(string(w), "all")
	if t.isState(rest) {
		return t.where(ids, func(n *wire.Node) bool { return n.State == rest }), nil
	}
	if state, ok := strings.CutPrefix(rest, "not"); ok && t.isState(state) {
		return t.where(ids, func(n *wire.Node) bool { return n.State != state }), nil
	}
	return nil, fmt.Errorf("node %s: no such node, and no such state", onscreen.Line(string(w)))
}

// named returns the node with a name, or the nodes with an address. Machines say their names themselves: one that
// says the name of another, or its address, must not get what is meant for that.
func (t Table) named(w word) ([]wire.NodeID, error) {
	if t.index.byName == nil {
		t.index.fill(t.Nodes)
	}
	if addr, err := netip.ParseAddr(string(w)); err == nil {
		return t.index.byAddr[addr.Unmap()], nil
	}
	ids := t.index.byName[string(w)]
	if len(ids) > 1 {
		return nil, fmt.Errorf("node %s: %d nodes have this name, %v and %v for instance; use their numbers", onscreen.Line(string(w)), len(ids), ids[0], ids[1])
	}
	return ids, nil
}

// states are those of the original BProc, and what drained nodes show. An administrator's own are
// known by the nodes that are in them.
var states = map[string]bool{
	"up": true, "down": true, "boot": true, "error": true,
	"unavailable": true, "reboot": true, "halt": true, "pwroff": true,
	"draining": true, "drained": true,
}

func (t Table) isState(s string) bool {
	return states[s] || len(t.where(nil, func(n *wire.Node) bool { return s != "" && n.State == s })) > 0
}

package core

import (
	"fmt"

	"bproc/pidmap"
	"bproc/wire"
)

// A node gets its home when it joins: its process space is made right then, and cannot be told of a
// home later (package filter).

// allocator returns an allocator in which every node of the table has its home.
func (t *nodeTable) allocator(cfg pidmap.Config) (*pidmap.Allocator, error) {
	alloc := pidmap.NewAllocator(cfg)
	for _, n := range t.sorted() {
		if n.Home.Count == 0 {
			continue
		}
		if err := alloc.Home(n.ID, n.Home); err != nil {
			return nil, fmt.Errorf("node table: %w", err)
		}
	}
	return alloc, nil
}

// giveHome gives a home to a node that joins; a node that has joined before still has its own. A
// node without a home works, but asks about all numbers. If no home is left, that of a node without
// an identity, such as a revoked one, goes over to it; that node is returned, too.
func (c *Core) giveHome(n *node) (former *node) {
	if n.Home.Count > 0 || len(c.orphans) > 0 { // nodes that have yet to come back may have any number
		return nil
	}
	if n.Home = c.alloc.NewHome(n.ID); n.Home.Count > 0 {
		c.noteHome(n)
		return nil
	}
	for _, former := range c.nodes.sorted() {
		if former.Key != "" || former.Home.Count == 0 {
			continue
		}
		home := former.Home
		former.Home = wire.Block{}
		c.alloc.LeaveHome(former.ID)
		if err := c.alloc.Home(n.ID, home); err != nil {
			c.log.Error("a node has no numbers at home", "node", n.ID, "err", err)
			return former
		}
		n.Home = home
		return former
	}
	return nil
}

// noteHome logs that there are more nodes than were expected.
func (c *Core) noteHome(n *node) {
	if usual := c.alloc.Usage().Home; int(n.Home.Count) < usual {
		c.log.Warn("more nodes have joined than are expected, and this one has fewer process numbers of its own; see expected-nodes in bpmaster(8)",
			"node", n.ID, "numbers", n.Home.Count, "usual", usual)
	}
}

package master

import (
	"fmt"

	"bproc/pidmap"
	"bproc/wire"
)

// A node gets its home when it joins, since its process space, which is made right then,
// cannot be told later (package filter).

// allocator returns one in which every node of the table has its home.
func (t *nodeTable) allocator(blockSize int) (*pidmap.Allocator, error) {
	alloc := pidmap.NewAllocator(pidmap.Config{BlockSize: blockSize})
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

// giveHome gives a node that joins a home; one that has joined before has its own still.
// Without one a node does its work, but asks about all numbers.
func (c *core) giveHome(n *node) {
	if n.Home.Count > 0 || len(c.found) > 0 { // nodes that are not back yet may have any number
		return
	}
	n.Home = c.alloc.NewHome(n.ID)
	if n.Home.Count == 0 {
		n.Home = c.inherited(n.ID)
	}
	if err := c.nodes.keep(n); err != nil {
		c.log.Error("a node has no numbers at home", "node", n.ID, "err", err)
		c.alloc.LeaveHome(n.ID)
		n.Home = wire.Block{}
	}
}

// inherited takes the home of a node that was revoked, or of none, for another one.
func (c *core) inherited(id wire.NodeID) wire.Block {
	for _, n := range c.nodes.sorted() {
		if n.Key != "" || n.Home.Count == 0 {
			continue
		}
		before := n.Home
		n.Home = wire.Block{}
		if err := c.nodes.keep(n); err != nil {
			n.Home = before
			break
		}
		c.alloc.LeaveHome(n.ID)
		return c.alloc.NewHome(id)
	}
	return wire.Block{}
}

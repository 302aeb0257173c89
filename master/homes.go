package master

import (
	"fmt"
	"time"

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

// joined gives an identity its number, and a home. Without one a node does its work, but
// asks about all numbers.
func (c *core) joined(key string, want wire.NodeID, name string) (*node, wire.Block, error) {
	n, err := c.nodes.join(key, want, name, time.Now())
	if err != nil || len(c.found) > 0 { // nodes that are not back yet may have any number
		return n, wire.Block{}, err
	}
	n.Home = c.alloc.NewHome(n.ID)
	if err := c.nodes.keep(n); err != nil {
		c.log.Error("a node has no numbers at home", "node", n.ID, "err", err)
		c.alloc.LeaveHome(n.ID)
		n.Home = wire.Block{}
	}
	return n, n.Home, nil
}

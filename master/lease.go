package master

import (
	"bproc/pidmap"
	"bproc/wire"
)

// firstBlocks is how many blocks a node has at least: one in which its cursor
// stands, and one to go on to.
const firstBlocks = 2

// maxNumbers bounds the process numbers on lease to one node: a third of the
// zone, with blocks of the usual size 64.
const maxNumbers = 64 * pidmap.DefaultBlock

// lend leases n more blocks of numbers to a node, or as many as there are. As long
// as there are found ghosts, a node with blocks that a former master has leased
// may not have come back, and nothing is lent.
func (c *core) lend(s *session, n int) {
	s.wanted = min(max(n, s.wanted), maxLeaseWanted)
	s.lending = len(c.found) > 0
	if s.lending {
		return
	}
	n, s.wanted = min(s.wanted, c.alloc.Free()), 0
	if s.emptying || s.numbers >= maxNumbers {
		n = 0
	}
	blocks, err := c.alloc.Lease(s.node, n)
	if err != nil || len(blocks) == 0 && s.numbers == 0 {
		c.log.Error("no process numbers are left for a node", "node", s.node, "err", err)
		s.emptying = true
	}
	for _, b := range blocks {
		s.numbers += int(b.Count)
	}
	s.put(&wire.Lease{Blocks: blocks})
}

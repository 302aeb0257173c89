package master

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bproc/pidmap"
	"bproc/wire"
)

// firstBlocks is how many blocks a node has at least: one in which its cursor
// stands, and one to go on to.
const firstBlocks = 2

// maxNumbers bounds the process numbers of one node: a third of the
// zone, with blocks of the usual size 64.
const maxNumbers = 64 * pidmap.DefaultBlock

// lend grants n more blocks of numbers to a node, or as many as there are. As long
// as there are found ghosts, a node with blocks that a former master has granted
// may not have come back, and nothing is lent.
func (c *core) lend(s *session, n int) {
	s.wanted = min(max(n, s.wanted), maxBlocksWanted)
	s.lending = len(c.found) > 0
	if s.lending {
		return
	}
	n, s.wanted = min(s.wanted, c.alloc.Free(s.node)), 0
	if s.emptying || s.numbers >= maxNumbers {
		n = 0
	}
	blocks, err := c.alloc.Grant(s.node, n)
	if err == nil {
		if err = c.blocks.set(s.node, slices.Concat(c.blocks.of[s.node], blocks)); err != nil {
			err = errors.Join(err, c.alloc.Release(s.node, blocks))
			blocks = nil
		}
	}
	if err != nil || len(blocks) == 0 && s.numbers == 0 {
		c.log.Error("no process numbers are left for a node", "node", s.node, "err", err)
		s.emptying = true
	}
	for _, b := range blocks {
		s.numbers += int(b.Count)
	}
	s.put(&wire.BlocksGranted{Blocks: blocks})
}

// takeBack takes blocks back in which the node uses no number any more. A ghost
// that is still ending does no harm: a process that gets its number on another
// node waits for it.
func (c *core) takeBack(s *session, blocks []wire.Block) {
	err := c.unused(blocks)
	if err == nil {
		err = c.alloc.Release(s.node, blocks)
	}
	if err != nil {
		c.log.Error("node gives process numbers back that it may not; its connection is closed", "node", s.node, "err", err)
		s.link.Close(err)
		return
	}
	for _, b := range blocks {
		s.numbers -= int(b.Count)
	}
	left := slices.DeleteFunc(slices.Clone(c.blocks.of[s.node]), func(b wire.Block) bool { return slices.Contains(blocks, b) })
	if err := c.blocks.set(s.node, left); err != nil {
		c.log.Error("it is not kept which numbers a node has given back", "node", s.node, "err", err)
	}
}

// unused checks that blocks have no process in them.
func (c *core) unused(blocks []wire.Block) error {
	if err := pidmap.Validate(blocks); err != nil {
		return err
	}
	sorted := slices.SortedFunc(slices.Values(blocks), func(a, b wire.Block) int { return cmp.Compare(a.First, b.First) })
	for _, p := range c.procs {
		after, _ := slices.BinarySearchFunc(sorted, p.pid, func(b wire.Block, pid wire.PID) int { return cmp.Compare(b.First, pid+1) })
		if p.state != ending && after > 0 && sorted[after-1].Contains(p.pid) {
			return fmt.Errorf("%w: number %d is in use", pidmap.ErrBlocks, p.pid)
		}
	}
	return nil
}

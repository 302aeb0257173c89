package core

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
// as there are orphans, a node with blocks that a former master has granted
// may not have come back, and nothing is granted.
func (c *Core) lend(s *session, n int) {
	s.wanted = min(max(n, s.wanted), maxBlocksWanted)
	s.lending = len(c.orphans) > 0
	if s.lending {
		return
	}
	n, s.wanted = min(s.wanted, c.alloc.Free(s.node)), 0
	if s.emptying || s.numbers >= maxNumbers {
		n = 0
	}
	blocks, err := c.alloc.Grant(s.node, n)
	if err != nil || len(blocks) == 0 {
		c.lent(s, nil, err)
		return
	}
	c.setBlocks(s.node, slices.Concat(c.blocks.of[s.node], blocks), &lending{s, blocks})
}

// lending are blocks that a node gets when that is kept.
type lending struct {
	s      *session
	blocks []wire.Block
}

func (l *lending) kept(c *Core, err error) {
	if err != nil {
		err = errors.Join(err, c.alloc.Release(l.s.node, l.blocks))
		l.blocks = nil
	}
	c.lent(l.s, l.blocks, err)
}

// lent tells a node which blocks it has got. One without any cannot have processes.
func (c *Core) lent(s *session, blocks []wire.Block, err error) {
	if err != nil || len(blocks) == 0 && s.numbers == 0 {
		c.log.Error("no process numbers are left for a node", "node", s.node, "err", err)
		s.emptying = true
	}
	for _, b := range blocks {
		s.numbers += int(b.Count)
	}
	c.put(s, &wire.BlocksGranted{Blocks: blocks})
}

// claimNumbers enters the blocks that a node has. It may have fewer than were granted to
// it, and no others.
func (c *Core) claimNumbers(s *session) {
	blocks := s.inventory.Blocks
	err := c.blocks.cover(s.node, blocks)
	c.alloc.Return(s.node)
	if err == nil {
		err = c.alloc.Claim(s.node, blocks)
	}
	for _, b := range blocks {
		s.numbers += int(b.Count)
	}
	if err != nil {
		c.log.Error("node claims process numbers that are not its own; its processes are killed", "node", s.node, "err", err)
		s.emptying = true
		blocks = nil
	}
	c.setBlocks(s.node, blocks, blocksSet(s.node))
}

// takeBack takes blocks back in which the node uses no number any more. A ghost
// that is still ending does no harm: a process that gets its number on another
// node waits for it.
func (c *Core) takeBack(s *session, blocks []wire.Block) {
	err := c.unused(blocks)
	if err == nil {
		err = c.alloc.Release(s.node, blocks)
	}
	if err != nil {
		c.log.Error("node gives process numbers back that it may not; its connection is closed", "node", s.node, "err", err)
		c.close(s, err)
		return
	}
	for _, b := range blocks {
		s.numbers -= int(b.Count)
	}
	left := slices.DeleteFunc(slices.Clone(c.blocks.of[s.node]), func(b wire.Block) bool { return slices.Contains(blocks, b) })
	c.setBlocks(s.node, left, blocksSet(s.node))
}

// unused checks that blocks have no process in them.
func (c *Core) unused(blocks []wire.Block) error {
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

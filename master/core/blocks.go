package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bproc/pidmap"
	"bproc/wire"
)

// maxNumbers bounds the process numbers of one node: a sixth of the zone.
const maxNumbers = 1 << 19

// lend grants another block of numbers to a node that wants one and may have one; the block at its
// home comes first. While there are orphans nothing is granted: a node with blocks that a former
// master has granted may not have come back yet.
func (c *Core) lend(s *session, wants bool) {
	s.wanted = s.wanted || wants
	if s.granting {
		return
	}
	if len(c.orphans) > 0 {
		if !s.lending {
			s.lending = true
			c.lending = append(c.lending, s)
			c.put(s, &wire.Progress{Event: s.told}) // the slave's lease begins with the first message
		}
		return
	}
	s.lending = false
	wants, s.wanted = s.wanted, false
	if !wants || s.emptying || s.numbers >= maxNumbers {
		c.lent(s, nil, nil, wants)
		return
	}
	b, err := c.alloc.Grant(s.node)
	if err != nil {
		c.lent(s, nil, err, true)
		return
	}
	blocks := []wire.Block{b}
	if c.isAtHome(s.node, b) {
		c.lent(s, blocks, nil, true)
		return
	}
	s.granting = true
	c.setBlocks(s.node, slices.Concat(c.blocks.of[s.node], blocks), &granting{s, b})
}

// granting is a block that a node gets when it is kept.
type granting struct {
	s     *session
	block wire.Block
}

func (g *granting) kept(c *Core, err error) {
	s := g.s
	s.granting = false
	switch {
	case s.ended: // the node has not heard of the block, and will claim what it has
	case err != nil:
		c.log.Error("process numbers for a node cannot be kept", "node", s.node, "err", err)
		blocks := []wire.Block{g.block}
		c.blocks.set(s.node, without(c.blocks.of[s.node], blocks))
		c.lent(s, nil, errors.Join(err, c.alloc.Release(s.node, blocks)), true)
	default:
		c.lent(s, []wire.Block{g.block}, nil, true)
	}
	if s.wanted && !s.ended {
		c.lend(s, false)
	}
	c.orphansClaimed()
}

// without returns the blocks that are not among others.
func without(blocks, others []wire.Block) []wire.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b wire.Block) bool { return slices.Contains(others, b) })
}

// lent tells a node which blocks it gets; no block is an answer, too. A node without any block
// cannot have processes. If a node has blocks and gets no more, forks fail there with EAGAIN when
// these are used up.
func (c *Core) lent(s *session, blocks []wire.Block, err error, wanted bool) {
	for _, b := range blocks {
		s.numbers += int(b.Count)
	}
	switch {
	case s.numbers == 0:
		c.log.Error("no process numbers are left for a node", "node", s.node, "err", err)
		s.emptying = true
	case len(blocks) > 0:
		s.short = false
	case wanted && !s.short && !s.emptying:
		s.short = true
		c.log.Warn("a node gets no more process numbers; when those that it has are used up forks fail there with EAGAIN, until others need fewer (bpstat --numbers)",
			"node", s.node, "numbers", s.numbers)
	}
	c.put(s, &wire.BlocksGranted{Blocks: blocks})
}

// NumberList returns how process numbers are used.
func (c *Core) NumberList() wire.NumberList {
	u := c.alloc.Usage()
	list := wire.NumberList{
		Numbers: uint32(u.Numbers), Home: uint32(u.Home), Homes: uint32(u.Homes), Pool: uint32(u.Pool), Free: uint32(u.Free),
	}
	for _, n := range c.nodes.sorted() {
		blocks := c.alloc.Blocks(n.ID)
		l := wire.NodeNumbers{ID: n.ID, Blocks: uint32(len(blocks)), Short: n.sess != nil && n.sess.short}
		if n.Home.Count > 0 {
			l.Home = uint32(pidmap.Inside(n.Home).Count)
		}
		for _, b := range c.borrowed(n.ID, blocks) {
			l.Borrowed += uint32(b.Count)
		}
		list.Nodes = append(list.Nodes, l)
	}
	return list
}

// isAtHome reports whether a block is at home on a node. The node table says so, and no other node
// gets it.
func (c *Core) isAtHome(node wire.NodeID, b wire.Block) bool {
	n := c.nodes.byID[node]
	return n != nil && n.Home.First <= b.First && b.End() <= n.Home.End()
}

// borrowed returns the blocks of a node that are not at home.
func (c *Core) borrowed(node wire.NodeID, blocks []wire.Block) []wire.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b wire.Block) bool { return c.isAtHome(node, b) })
}

// claimNumbers enters the blocks that a node has. Besides those at home these may be fewer than
// were granted to it, but no others.
func (c *Core) claimNumbers(s *session) {
	blocks := s.inventory.Blocks
	borrowed := c.borrowed(s.node, blocks)
	err := c.blocks.cover(s.node, borrowed)
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
		borrowed = nil
	}
	c.setBlocks(s.node, borrowed, blocksSet(s.node))
}

// takeBack takes back blocks in which the node no longer uses a number. A ghost that is still
// ending does no harm: a process that gets its number on another node waits for it.
func (c *Core) takeBack(s *session, blocks []wire.Block) {
	err := c.unused(s.node, blocks)
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
	c.setBlocks(s.node, without(c.blocks.of[s.node], blocks), blocksSet(s.node))
}

// unused checks that a node has no process in the given blocks.
func (c *Core) unused(node wire.NodeID, blocks []wire.Block) error {
	if err := pidmap.Validate(blocks); err != nil {
		return err
	}
	sorted := slices.SortedFunc(slices.Values(blocks), func(a, b wire.Block) int { return cmp.Compare(a.First, b.First) })
	for _, p := range c.onNode[node] {
		after, _ := slices.BinarySearchFunc(sorted, p.pid, func(b wire.Block, pid wire.PID) int { return cmp.Compare(b.First, pid+1) })
		if p.state != ending && after > 0 && sorted[after-1].Contains(p.pid) {
			return fmt.Errorf("%w: number %d is in use", pidmap.ErrBlocks, p.pid)
		}
	}
	return nil
}

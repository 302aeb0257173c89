package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"bproc/pidmap"
	"bproc/wire"
)

// blockTable has the blocks of process numbers that nodes have besides those at home, as they
// are kept for the next master: a node that comes then may claim these and no others. They are
// on disk before a node hears of them.
type blockTable struct {
	of map[wire.NodeID][]wire.Block
}

func loadBlocks(records map[string][]byte) (*blockTable, error) {
	t := &blockTable{of: map[wire.NodeID][]wire.Block{}}
	for _, number := range inOrder(records) {
		var blocks []wire.Block
		id, err := strconv.ParseInt(number, 10, 32)
		if err == nil {
			err = json.Unmarshal(records[number], &blocks)
		}
		if err != nil {
			return nil, fmt.Errorf("blocks of numbers: node %s: %w", number, err)
		}
		t.of[wire.NodeID(id)] = blocks
	}
	return t, nil
}

// cover reports whether a node has all of these blocks.
func (t *blockTable) cover(node wire.NodeID, blocks []wire.Block) error {
	for _, b := range blocks {
		if !slices.Contains(t.of[node], b) {
			return fmt.Errorf("claim of node %d: %w: those from %d are not its own", node, pidmap.ErrBlocks, b.First)
		}
	}
	return nil
}

// reserve has an allocator grant nobody else what nodes have that are yet to come. What
// cannot be theirs they will claim in vain.
func (t *blockTable) reserve(alloc *pidmap.Allocator) (err error) {
	for _, node := range inOrder(t.of) {
		err = errors.Join(err, alloc.Claim(node, t.of[node]))
	}
	return err
}

// setBlocks has it kept what a node has from now on. If that cannot be, nothing has changed.
func (c *Core) setBlocks(node wire.NodeID, blocks []wire.Block, then kept) {
	if slices.Equal(c.blocks.of[node], blocks) {
		then.kept(c, nil)
		return
	}
	var record []byte // nil: there is none any more
	if len(blocks) > 0 {
		var err error
		if record, err = json.Marshal(blocks); err != nil {
			then.kept(c, fmt.Errorf("blocks of numbers: %w", err))
			return
		}
	}
	t := &settingBlocks{node: node, before: c.blocks.of[node], after: slices.Clone(blocks), then: then}
	t.set(c, t.after)
	c.keep(Blocks, map[string][]byte{strconv.Itoa(int(node)): record}, t)
}

// settingBlocks are the blocks of a node that are to be kept.
type settingBlocks struct {
	node          wire.NodeID
	before, after []wire.Block
	then          kept
}

func (t *settingBlocks) kept(c *Core, err error) {
	if err == nil {
		t.set(c, t.after)
	} else {
		t.set(c, t.before)
	}
	t.then.kept(c, err)
}

func (t *settingBlocks) set(c *Core, blocks []wire.Block) {
	if c.blocks.of[t.node] = blocks; len(blocks) == 0 {
		delete(c.blocks.of, t.node)
	}
}

// blocksSet says that fewer blocks than before were to be kept for a node. More may be kept
// for it than it has: then the next master believes it too much, and nobody else gets them.
type blocksSet wire.NodeID

func (node blocksSet) kept(c *Core, err error) {
	if err != nil {
		c.log.Error("it is not kept that a node has fewer process numbers", "node", wire.NodeID(node), "err", err)
	}
}

// disown takes back all numbers of a node: it has no processes any more.
func (c *Core) disown(node wire.NodeID) {
	c.alloc.Return(node)
	c.setBlocks(node, nil, blocksSet(node))
}

// disownAbsent takes back the numbers of nodes that have not come to this master in the
// time of their lease.
func (c *Core) disownAbsent() {
	for _, node := range inOrder(c.blocks.of) {
		if n := c.nodes.byID[node]; n == nil || n.sess == nil && n.lostAt.IsZero() {
			c.disown(node)
		}
	}
}

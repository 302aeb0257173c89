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

// blockTable holds the blocks of process numbers that nodes have besides those at home, as they are
// kept for the next master. A node that connects to that master may claim these and no others. They
// are on disk before a node hears of them.
type blockTable struct {
	of    map[wire.NodeID][]wire.Block
	stale map[wire.NodeID]bool // whose records could not be kept; the next write includes them
}

func loadBlocks(records map[string][]byte) (*blockTable, error) {
	t := &blockTable{of: map[wire.NodeID][]wire.Block{}, stale: map[wire.NodeID]bool{}}
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

// cover returns an error if a node does not have all of these blocks.
func (t *blockTable) cover(node wire.NodeID, blocks []wire.Block) error {
	for _, b := range blocks {
		if !slices.Contains(t.of[node], b) {
			return fmt.Errorf("claim of node %d: %w: those from %d are not its own", node, pidmap.ErrBlocks, b.First)
		}
	}
	return nil
}

// reserve claims the blocks of nodes that have yet to connect, so that no other node gets them. A
// node whose blocks cannot be reserved will claim them in vain.
func (t *blockTable) reserve(alloc *pidmap.Allocator) (err error) {
	for _, node := range inOrder(t.of) {
		err = errors.Join(err, alloc.Claim(node, t.of[node]))
	}
	return err
}

// setBlocks sets the blocks that a node has from now on, and keeps them.
func (c *Core) setBlocks(node wire.NodeID, blocks []wire.Block, then kept) {
	t := c.blocks
	if slices.Equal(t.of[node], blocks) && !t.stale[node] {
		then.kept(c, nil)
		return
	}
	t.set(node, slices.Clone(blocks))
	t.stale[node] = true
	nodes := inOrder(t.stale)
	records := map[string][]byte{}
	for _, id := range nodes {
		record, err := json.Marshal(t.of[id])
		if err != nil {
			then.kept(c, fmt.Errorf("blocks of numbers: %w", err))
			return
		}
		if len(t.of[id]) == 0 {
			record = nil // the node has none any more
		}
		records[strconv.Itoa(int(id))] = record
	}
	clear(t.stale)
	c.keepLater(Blocks, records, &settingBlocks{nodes, then})
}

func (t *blockTable) set(node wire.NodeID, blocks []wire.Block) {
	if t.of[node] = blocks; len(blocks) == 0 {
		delete(t.of, node)
	}
}

// settingBlocks are nodes whose blocks are being kept.
type settingBlocks struct {
	nodes []wire.NodeID
	then  kept
}

func (t *settingBlocks) kept(c *Core, err error) {
	for _, node := range t.nodes {
		if err != nil {
			c.blocks.stale[node] = true
		}
	}
	t.then.kept(c, err)
}

// blocksSet ends the keeping of fewer blocks than a node had before. If that fails, the record
// names more blocks than the node has: the next master accepts a claim of them, and no other node
// gets them.
type blocksSet wire.NodeID

func (node blocksSet) kept(c *Core, err error) {
	if err != nil {
		c.log.Error("it is not kept that a node has fewer process numbers", "node", wire.NodeID(node), "err", err)
	}
}

// disown takes back all numbers of a node that no longer has processes.
func (c *Core) disown(node wire.NodeID) {
	c.alloc.Return(node)
	c.setBlocks(node, nil, blocksSet(node))
}

// disownAbsent takes back the numbers of nodes that have not connected to this master within the
// time of their lease.
func (c *Core) disownAbsent() {
	for _, node := range inOrder(c.blocks.of) {
		if n := c.nodes.byID[node]; n == nil || n.sess == nil && n.lostAt.IsZero() {
			c.disown(node)
		}
	}
}

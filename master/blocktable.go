package master

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"bproc/pidmap"
	"bproc/wire"
	"bproc/wire/link"
)

// blockTable has the blocks of process numbers that nodes have, as they are kept for the next
// master: a node that comes then may claim these and no others. They are on disk before
// a node hears of them. Their owner is the core.
type blockTable struct {
	kept link.Records // by number of the node; nil: none is kept
	of   map[wire.NodeID][]wire.Block
}

func loadBlocks(kept link.Records) (*blockTable, error) {
	l := &blockTable{kept: kept, of: map[wire.NodeID][]wire.Block{}}
	records, err := kept.All()
	if err != nil {
		return nil, fmt.Errorf("blocks of numbers: %w", err)
	}
	for number, record := range records {
		var blocks []wire.Block
		id, err := strconv.ParseInt(number, 10, 32)
		if err == nil {
			err = json.Unmarshal(record, &blocks)
		}
		if err != nil {
			return nil, fmt.Errorf("blocks of numbers: node %s: %w", number, err)
		}
		l.of[wire.NodeID(id)] = blocks
	}
	return l, nil
}

// set keeps what a node has from now on.
func (l *blockTable) set(node wire.NodeID, blocks []wire.Block) error {
	if slices.Equal(l.of[node], blocks) {
		return nil
	}
	var record []byte // nil: there is none any more
	if len(blocks) > 0 {
		var err error
		if record, err = json.Marshal(blocks); err != nil {
			return fmt.Errorf("blocks of numbers: %w", err)
		}
	}
	if l.kept != nil {
		if err := l.kept.Change(map[string][]byte{strconv.Itoa(int(node)): record}); err != nil {
			return fmt.Errorf("blocks of numbers: %w", err)
		}
	}
	if l.of[node] = slices.Clone(blocks); len(blocks) == 0 {
		delete(l.of, node)
	}
	return nil
}

// cover reports whether a node has all of these blocks.
func (l *blockTable) cover(node wire.NodeID, blocks []wire.Block) error {
	for _, b := range blocks {
		if !slices.Contains(l.of[node], b) {
			return fmt.Errorf("claim of node %d: %w: those from %d are not its own", node, pidmap.ErrBlocks, b.First)
		}
	}
	return nil
}

// reserve has an allocator lease nobody else what nodes have that are yet to come. What
// cannot be theirs they will claim in vain.
func (l *blockTable) reserve(alloc *pidmap.Allocator) (err error) {
	for node, blocks := range l.of {
		err = errors.Join(err, alloc.Claim(node, blocks))
	}
	return err
}

// disown takes back all numbers of a node: it has no processes any more.
func (c *core) disown(node wire.NodeID) {
	c.alloc.Return(node)
	if err := c.blocks.set(node, nil); err != nil {
		c.log.Error("it is not kept that a node has no numbers any more", "node", node, "err", err)
	}
}

// disownAbsent takes back the numbers of nodes that have not come to this master in the
// time of their lease.
func (c *core) disownAbsent() {
	for node := range c.blocks.of {
		if n := c.nodes.byID[node]; n == nil || n.sess == nil && n.lostAt.IsZero() {
			c.disown(node)
		}
	}
}

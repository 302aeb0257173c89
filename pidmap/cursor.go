package pidmap

import (
	"fmt"
	"slices"

	"bproc/wire"
)

// Cursor decides where the allocation cursor of a process space stands: in the node's own blocks,
// one after the other. From there on the kernel gives numbers in order, and skips those in use.
//
//	     Next              Low                End        end of gap
//	      |  given          |  still to be    |  not to be  |
//	------+-----------------+-----------------+-------------+----
//	                        ^ a task with this number or a later one: Passed
//
// When the kernel comes to Low the cursor must be moved; meanwhile the rest of the
// block and the gap behind it are still the node's.
//
// In its only block the cursor goes on to the last quarter before it goes back, so that a number
// comes back as late as possible; notices before that are for Wanted.
type Cursor struct {
	home   wire.Block
	blocks []ownBlock // by number
	at     int        // index of the block in which the cursor stands; -1: none
	low    wire.PID
	tasks  int
}

// ownBlock is a block with its number of live processes.
type ownBlock struct {
	wire.Block
	live int
}

// Move says what to do to the cursor.
type Move struct {
	Next wire.PID // the number to be given next; 0: the cursor stays
	Low  wire.PID // the number for which to ask for a notice
}

// NewCursor returns a cursor without blocks. It does not give up those at home, if there is a home.
func NewCursor(home wire.Block) *Cursor { return &Cursor{home: home, at: -1} }

// Add adds blocks. The first time, Place must follow.
func (c *Cursor) Add(blocks []wire.Block) error {
	if err := Validate(append(c.Blocks(), blocks...)); err != nil {
		return fmt.Errorf("add blocks: %w", err)
	}
	var current wire.PID
	if c.at >= 0 {
		current = c.blocks[c.at].First
	}
	for _, b := range blocks {
		c.blocks = append(c.blocks, ownBlock{Block: b})
	}
	slices.SortFunc(c.blocks, func(a, b ownBlock) int { return int(a.First - b.First) })
	if c.at >= 0 {
		c.at = c.owner(current)
	}
	return nil
}

// Blocks returns the blocks of the node.
func (c *Cursor) Blocks() []wire.Block {
	blocks := make([]wire.Block, len(c.blocks))
	for i, b := range c.blocks {
		blocks[i] = b.Block
	}
	return blocks
}

// Has reports whether a number is in a block of the node.
func (c *Cursor) Has(p wire.PID) bool {
	i := c.owner(p)
	return i >= 0 && c.blocks[i].Contains(p)
}

// Born counts a process that was born in the space. Numbers outside the node's blocks do not
// concern the Cursor.
func (c *Cursor) Born(p wire.PID) { c.count(p, 1) }

// Died counts a process that has died.
func (c *Cursor) Died(p wire.PID) { c.count(p, -1) }

// Tasks sets how many processes and threads there are, where that is known (pids.current of the
// space's cgroup). Threads take numbers, too.
func (c *Cursor) Tasks(n int) { c.tasks = n }

func (c *Cursor) count(p wire.PID, n int) {
	if i := c.owner(p); i >= 0 {
		c.blocks[i].live = max(0, c.blocks[i].live+n)
	}
}

// owner returns the index of the last block that begins at or before p: p is in that block or in
// its gap.
func (c *Cursor) owner(p wire.PID) int {
	i, found := slices.BinarySearchFunc(c.blocks, p, func(b ownBlock, p wire.PID) int { return int(b.First - p) })
	if found {
		return i
	}
	return i - 1
}

// Place puts the cursor into the block with the smallest live part; false: there is no block.
func (c *Cursor) Place() (Move, bool) {
	if len(c.blocks) == 0 {
		return Move{}, false
	}
	// The search begins behind the present block: of equals, the block that has rested longest is
	// taken. The present one, whose numbers were just given, is taken only if the others are half
	// full and it is emptier.
	best := -1
	for n := range c.blocks {
		i := (c.at + 1 + n) % len(c.blocks)
		if best < 0 || i != c.at && c.blocks[i].emptier(c.blocks[best]) {
			best = i
		}
	}
	if c.at >= 0 && 2*c.blocks[best].live >= int(c.blocks[best].Count) && c.blocks[c.at].emptier(c.blocks[best]) {
		best = c.at
	}
	c.at = best
	b := c.blocks[best]
	c.low = b.First + wire.PID(lowWater(int(b.Count), b.live))
	return Move{Next: b.First, Low: c.low}, true
}

// Refuge returns the block in which the cursor is out of the way when it comes to the end of its
// block and has not been moved: the emptiest other block, or this one if there is no other.
func (c *Cursor) Refuge() wire.Block {
	best := c.at
	for i := range c.blocks {
		if i != c.at && (best == c.at || c.blocks[i].emptier(c.blocks[best])) {
			best = i
		}
	}
	if best < 0 {
		return wire.Block{}
	}
	return c.blocks[best].Block
}

// emptier reports whether a smaller part of b is live than of other.
func (b ownBlock) emptier(other ownBlock) bool {
	return int64(b.live)*int64(other.Count) < int64(other.live)*int64(b.Count)
}

// Stand says that the cursor stands at the number that was given last; false: that is in no block.
func (c *Cursor) Stand(last wire.PID) (Move, bool) {
	i := c.owner(last)
	if i < 0 || !c.Owns(last) {
		return Move{}, false
	}
	c.at = i
	b := c.blocks[i]
	c.low = b.First + wire.PID(lowWater(int(b.Count), b.live))
	return Move{Low: c.low}, true
}

// fewNumbers is what a node can use up in a fifth of a second. A smaller block keeps more for the
// time that a move takes.
const fewNumbers = 4096

// lowWater returns how many numbers of a block are passed before the cursor moves on: half of them,
// or a quarter in a small block. Some of these must be free, and some of the block must be left for
// the time that a move takes.
func lowWater(count, live int) int {
	low := count / 2
	if count < fewNumbers {
		low = count / 4
	}
	return max(1, min(max(low, live+count/4), count-count/8))
}

// Passed notes that a task got a number not below Low; false: there is nothing to do.
func (c *Cursor) Passed(p wire.PID) (Move, bool) {
	switch {
	case c.at < 0 || p < c.low:
		return Move{}, false // a notice that was asked for before the last move
	case c.owner(p) != c.at:
		// The number was given before the last move, or the kernel has run through the gap into
		// another block. Either way the cursor belongs in this one.
		return Move{Next: c.blocks[c.at].First, Low: c.low}, true
	}
	if b := c.blocks[c.at]; len(c.blocks) == 1 {
		if last := b.End() - wire.PID(b.Count/4); p < last {
			c.low = min(p+wire.PID(max(1, b.Count/4)), last)
			return Move{Low: c.low}, true
		}
	}
	return c.Place()
}

// Current returns the block in which the cursor stands, with its gap.
func (c *Cursor) Current() (block wire.Block, end wire.PID, ok bool) {
	if c.at < 0 {
		return wire.Block{}, 0, false
	}
	block = c.blocks[c.at].Block
	return block, block.End() + Gap(block), true
}

// Owns reports whether a number is in a block of the node or in the gap behind it.
func (c *Cursor) Owns(p wire.PID) bool {
	i := c.owner(p)
	return i >= 0 && p < c.blocks[i].End()+Gap(c.blocks[i].Block)
}

// Spare returns blocks without live processes that the node can do without: they are not at home,
// the cursor is not in them, and Wanted would not ask for more even with twice as many processes.
func (c *Cursor) Spare() []wire.Block {
	used, numbers := c.use()
	var spare []wire.Block
	for i := len(c.blocks) - 1; i >= 0; i-- {
		b := c.blocks[i]
		rest := numbers - int(b.Count)
		if i == c.at || b.live > 0 || c.atHome(b.Block) || len(c.blocks)-len(spare) <= 1 || scarce(2*used, rest) {
			continue
		}
		numbers = rest
		spare = append(spare, b.Block)
	}
	return spare
}

// Drop removes a block that Spare has returned. The cursor does not go there any more.
func (c *Cursor) Drop(block wire.Block) {
	var current wire.PID
	if c.at >= 0 {
		current = c.blocks[c.at].First
	}
	c.blocks = slices.DeleteFunc(c.blocks, func(b ownBlock) bool { return b.Block == block })
	if c.at >= 0 {
		c.at = c.owner(current)
	}
}

// Wanted reports whether the node should have more blocks, so that no more than half of its numbers
// are in use, or a quarter if it has few.
func (c *Cursor) Wanted() bool { return scarce(c.use()) }

// Numbers returns how many numbers the node's blocks have.
func (c *Cursor) Numbers() int {
	_, numbers := c.use()
	return numbers
}

// use returns how many numbers are in use, and how many there are.
func (c *Cursor) use() (used, numbers int) {
	for _, b := range c.blocks {
		used += b.live
		numbers += int(b.Count)
	}
	return max(used, c.tasks), numbers
}

func scarce(used, numbers int) bool {
	if numbers < fewNumbers {
		used *= 2
	}
	return numbers == 0 || 2*used > numbers
}

func (c *Cursor) atHome(b wire.Block) bool {
	return c.home.First <= b.First && b.End() <= c.home.End()
}

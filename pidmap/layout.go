package pidmap

import (
	"errors"
	"fmt"
	"math/bits"

	"bproc/wire"
)

// Bounds on a [Config], and its defaults.
const (
	DefaultNodes = 256
	MaxNodes     = 4096
	MinNumbers   = 6 * MinBlock
	MaxNumbers   = int(zone)
)

// MinBlock is the smallest block that is granted, with its gap: 384 numbers and 128 behind them,
// which a node can use up in some milliseconds. It is also the size of the smallest home.
const MinBlock = 512

// maxHome bounds a home: more is of no use, and the rest is for the pool.
const maxHome = 1 << 16

// MaxGap bounds the gap behind a block.
const MaxGap = 8192

// ErrLayout is the error for a [Config] with too few numbers.
var ErrLayout = errors.New("too few process numbers")

// Config says what the node zone is laid out for.
type Config struct {
	Numbers   int // numbers that nodes use, from the first of the node zone on; 0: all
	Nodes     int // expected nodes; 0: DefaultNodes
	Processes int // expected processes on each node at a time; 0: as many as there is room for
}

// layout is how the zone is divided.
//
//	Node            + pool                          + numbers
//	|  pool         |  homes of the expected nodes  |
//
// Homes have up to two thirds of the zone. All sizes are powers of two, except that the zone is
// three of them.
type layout struct {
	numbers int32
	pool    int32
	home    int32 // numbers of one home, with its gap
}

// Check returns why there is no layout for this configuration; nil: there is one.
func (c Config) Check() error {
	l := c.layout()
	if l.home < MinBlock || c.Numbers != 0 && c.Numbers < MinNumbers {
		least := max(MinNumbers, 3*MinBlock/2*ceil(c.nodes()))
		return fmt.Errorf("%w: %d for %d nodes, which need %d at least", ErrLayout, l.numbers, c.nodes(), least)
	}
	return nil
}

func (c Config) nodes() int {
	if c.Nodes <= 0 {
		return DefaultNodes
	}
	return c.Nodes
}

func (c Config) layout() layout {
	numbers := c.Numbers
	if numbers <= 0 || numbers > MaxNumbers {
		numbers = MaxNumbers
	}
	third := floor(numbers / 3)
	nodes := ceil(c.nodes())
	home := min(2*third/nodes, maxHome)
	if c.Processes > 0 {
		home = min(home, max(MinBlock, ceil(2*c.Processes)))
	}
	return layout{numbers: int32(3 * third), pool: int32(3*third - home*nodes), home: int32(home)}
}

// floor and ceil round a positive number to a power of two; floor(0) is 0.
func floor(n int) int {
	if n <= 0 {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

func ceil(n int) int {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len(uint(n-1))
}

// Gap returns how many numbers behind a block belong to its node: a third of those in it, and
// MaxGap at most. The master and the nodes share this rule.
func Gap(b wire.Block) wire.PID { return wire.PID(min(b.Count/3, MaxGap)) }

// Inside returns the block that, with its gap, fills a range of numbers.
func Inside(r wire.Block) wire.Block {
	return wire.Block{First: r.First, Count: r.Count - min(r.Count/4, MaxGap)}
}

// span returns a block with its gap.
func span(b wire.Block) wire.Block {
	return wire.Block{First: b.First, Count: int32(min(b.End()+Gap(b), Max) - b.First)}
}

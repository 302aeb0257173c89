package pidmap

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bproc/wire"
)

// The zones. Max is the kernel's own bound (PID_MAX_LIMIT). pid_max is set to it on the front end
// and on nodes.
const (
	Local    wire.PID = 1                 // first number of the local zone
	LocalEnd wire.PID = Node - Guard      // the front end's cursor is put back before it gets here
	Guard             = 1 << 16           // numbers between the zones
	Node     wire.PID = 1 << 20           // first number of the node zone
	Max      wire.PID = 1 << 22           // end of the node zone
	zone              = int32(Max - Node) // numbers of the node zone
)

// ErrBlocks is the error for blocks that cannot be granted together.
var ErrBlocks = errors.New("invalid blocks of process numbers")

// Validate checks blocks that come from another machine: each must hold a number
// and be within the node zone, and no two may share one.
func Validate(blocks []wire.Block) error {
	sorted := slices.SortedFunc(slices.Values(blocks), func(a, b wire.Block) int {
		return cmp.Compare(a.First, b.First)
	})
	end := Node
	for i, b := range sorted {
		switch {
		case b.First < Node || b.First >= Max || b.Count < 1 || b.Count > int32(Max-b.First):
			return fmt.Errorf("%w: %d numbers from %d are not in the node zone", ErrBlocks, b.Count, b.First)
		case i > 0 && b.First < end:
			return fmt.Errorf("%w: number %d is in two of them", ErrBlocks, b.First)
		}
		end = b.End()
	}
	return nil
}

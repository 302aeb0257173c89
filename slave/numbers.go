package slave

import (
	"log/slog"
	"sync"
	"time"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// numbers keeps the cursor of the space in the node's blocks.
type numbers struct {
	log   *slog.Logger
	set   func(next wire.PID) error           // moves the space's cursor
	arm   func(low wire.PID)                  // asks for a notice beyond a number
	allow func(procevents.Range)              // sets which numbers the kernel may give
	fence func(block, other wire.Block) error // tells init the same, for when this daemon is late or gone
	want  func()                              // asks the master for another block
	home  wire.Block

	tasks func() int // number of processes and threads; 0: not known

	mu     sync.Mutex
	cursor *pidmap.Cursor
	asked  bool                     // for more, without an answer yet
	denied time.Time                // when the master had none
	idle   map[wire.Block]time.Time // spare blocks, and since when
	going  []wire.Block             // blocks about to be given back
	failed *pidmap.Move
}

// add takes in new blocks. The cursor moves to the first blocks of the node.
func (n *numbers) add(blocks []wire.Block) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked, n.denied = false, time.Time{}
	if len(blocks) == 0 {
		n.denied = time.Now()
	}
	first := len(n.cursor.Blocks()) == 0
	if err := n.cursor.Add(blocks); err != nil {
		return err
	}
	if !first {
		n.fenceLocked() // the cursor has another block to go to
		return nil
	}
	if move, ok := n.cursor.Place(); ok {
		n.moveLocked(move)
	}
	return nil
}

// resume goes on with the blocks of a former daemon, in which processes have numbers. The kernel
// has given last; 0: not known.
func (n *numbers) resume(blocks []wire.Block, pids []wire.PID, last wire.PID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(blocks) == 0 {
		return nil
	}
	if err := n.cursor.Add(blocks); err != nil {
		return err
	}
	for _, pid := range pids {
		n.cursor.Born(pid)
	}
	move, ok := n.cursor.Stand(last)
	if !ok {
		move, _ = n.cursor.Place()
	}
	n.moveLocked(move)
	return nil
}

// blocks returns the node's blocks.
func (n *numbers) blocks() []wire.Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append(n.cursor.Blocks(), n.going...)
}

// ours reports whether a number is in a block of the node. The gap behind a block is left out,
// though processes can get its numbers, too: the master knows its size.
func (n *numbers) ours(pid wire.PID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cursor.Has(pid)
}

// forget gives up all blocks: the master that granted them is gone, and no process has a number in
// them.
func (n *numbers) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cursor, n.asked, n.failed, n.idle, n.going = pidmap.NewCursor(n.home), false, nil, nil, nil
}

// passed handles the notice that a task got a number beyond the low-water mark. It moves the cursor
// first; the rest is not urgent.
func (n *numbers) passed(pid wire.PID) {
	n.mu.Lock()
	if move, ok := n.cursor.Passed(pid); ok {
		n.moveLocked(move)
	}
	n.mu.Unlock()
	n.askForMore()
}

// deniedTime is the pause before the next request after the master had no blocks.
const deniedTime = time.Second

// askForMore asks the master for another block if one is wanted. Until it comes, the bound on tasks
// keeps forks within the present numbers.
func (n *numbers) askForMore() {
	tasks := n.tasks()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cursor.Tasks(tasks)
	if n.asked || time.Since(n.denied) < deniedTime || !n.cursor.Wanted() {
		return
	}
	n.asked = true
	n.want()
}

// late reports whether the number that the kernel has given last is so near to the end of the block
// that the kernel must give no more before the cursor is moved.
func (n *numbers) late(last wire.PID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	block, end, ok := n.cursor.Current()
	return ok && last >= block.End()-wire.PID(block.Count/8) && last < end
}

// strayed handles the notice of a number outside of the cursor's present and former place.
func (n *numbers) strayed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if move, ok := n.cursor.Place(); ok {
		n.moveLocked(move)
	}
}

// owned reports whether a number is in a block of the node or in the gap behind it.
func (n *numbers) owned(pid wire.PID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cursor.Owns(pid)
}

// life counts processes by their numbers.
func (n *numbers) life(pid wire.PID, change int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if change > 0 {
		n.cursor.Born(pid)
		if n.failed != nil {
			n.moveLocked(*n.failed)
		}
	} else {
		n.cursor.Died(pid)
	}
}

// fenceLocked tells init in which block the cursor stands, and where to move it at the block's end.
// The gap is for numbers that are given meanwhile.
func (n *numbers) fenceLocked() {
	block, _, ok := n.cursor.Current()
	if !ok {
		return
	}
	if err := n.fence(block, n.cursor.Refuge()); err != nil {
		n.log.Error("init does not know the block", "pid", block.First, "err", err)
	}
}

// moveLocked moves the cursor. If that fails, each birth tries again, until the move succeeds or
// there is another place to go to. No notice is armed then: it would come at once, again and again.
func (n *numbers) moveLocked(m pidmap.Move) {
	if m.Next != 0 {
		if block, end, ok := n.cursor.Current(); ok {
			n.allow(procevents.Range{First: block.First, End: end})
			n.fenceLocked()
		}
		if err := n.set(m.Next); err != nil {
			if n.failed == nil {
				n.log.Error("the allocation cursor could not be moved", "pid", m.Next, "err", err)
			}
			n.failed = &m
			return
		}
	}
	n.failed = nil
	n.arm(m.Low)
}

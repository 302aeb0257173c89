package slave

import (
	"log/slog"
	"sync"
	"time"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// numbers keeps the allocation cursor of the space in the node's blocks.
type numbers struct {
	log   *slog.Logger
	set   func(next wire.PID) error           // puts the space's cursor
	arm   func(low wire.PID)                  // asks for a notice
	allow func(procevents.Range)              // says what the kernel may give
	fence func(block, other wire.Block) error // says the same to init, for when this daemon is late, or gone
	want  func()                              // asks the master for another block
	home  wire.Block

	tasks func() int // how many processes and threads there are; 0: not known

	mu     sync.Mutex
	cursor *pidmap.Cursor
	asked  bool                     // for more, without an answer
	denied time.Time                // when the answer was none
	idle   map[wire.Block]time.Time // blocks that can be done without, and since when
	going  []wire.Block             // those that are about to be given back
	failed *pidmap.Move
}

// add takes blocks on lease. The first ones are where the cursor goes.
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
		n.fenceLocked() // there is another way out
		return nil
	}
	if move, ok := n.cursor.Place(); ok {
		n.moveLocked(move)
	}
	return nil
}

// resume goes on with what a former daemon had on lease, where processes live that have
// numbers of it. The kernel has given last; 0: it is not known.
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

// blocks returns what is on lease.
func (n *numbers) blocks() []wire.Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append(n.cursor.Blocks(), n.going...)
}

// ours reports whether a number is of a block on lease. Those behind a block, which
// its processes can get too, are left out: how many there are the master knows.
func (n *numbers) ours(pid wire.PID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cursor.Has(pid)
}

// forget gives up all blocks: the master that leased them is not there any
// more, and no process has a number of them.
func (n *numbers) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cursor, n.asked, n.failed, n.idle, n.going = pidmap.NewCursor(n.home), false, nil, nil, nil
}

// passed handles the notice that a task got a number beyond the low-water mark. What
// is not urgent comes after the cursor has been moved.
func (n *numbers) passed(pid wire.PID) {
	n.mu.Lock()
	if move, ok := n.cursor.Passed(pid); ok {
		n.moveLocked(move)
	}
	n.mu.Unlock()
	n.askForMore()
}

// deniedTime is how long nothing is asked for when there was none.
const deniedTime = time.Second

// askForMore asks the master for another block, if one is wanted. Until there is one, the
// bound on tasks holds what is forked within the numbers that there are.
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

// late reports whether the kernel has come so far, with the number that it has given
// last, that it must not go on before the cursor is moved.
func (n *numbers) late(last wire.PID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	block, end, ok := n.cursor.Current()
	return ok && last >= block.End()-wire.PID(block.Count/8) && last < end
}

// strayed handles the notice of a number outside of where the cursor is and was.
func (n *numbers) strayed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if move, ok := n.cursor.Place(); ok {
		n.moveLocked(move)
	}
}

// owned reports whether a number is of a block on lease, or of the gap behind it.
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

// fenceLocked says in which block the cursor stands, and where it goes from its end. The gap
// is for what is given meanwhile.
func (n *numbers) fenceLocked() {
	block, _, ok := n.cursor.Current()
	if !ok {
		return
	}
	if err := n.fence(block, n.cursor.Refuge()); err != nil {
		n.log.Error("init does not know the block", "pid", block.First, "err", err)
	}
}

// moveLocked puts the cursor where it is to be. If that fails it is tried again at
// each birth, until it is done or there is another place to go to: a notice
// would come at once, and again and again.
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

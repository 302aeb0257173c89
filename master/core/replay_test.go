package core

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// processorTime returns the processor time that this thread has taken.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestMuchToldAgain checks that the time for events that are reported again grows with their
// number, and not with its square.
func TestMuchToldAgain(t *testing.T) {
	const most = 1 << 17
	take := func(births int) time.Duration {
		s := scriptWith(t, Config{})
		s.inputs("node 0")
		const root wire.PID = 4711
		s.core.orphans[root] = &orphan{Held: Held{PID: root, Adopted: wire.Adopted{PID: root, Owner: ownership(0, 0)}}}
		s.core.blocks.of[0] = []wire.Block{{First: pidmap.Node, Count: most}}
		in := NodeUp{Session: 1, Peer: Peer{Key: "key 0"}}
		in.Inventory = wire.Inventory{
			PIDs: []wire.PID{root}, Births: []uint64{1}, Again: uint64(births),
			Blocks: []wire.Block{{First: pidmap.Node, Count: most}},
		}
		for i := range births { // all live, and every other one is made by the one before
			pid := pidmap.Node + wire.PID(i)
			e := wire.Event{Kind: wire.EventForked, PID: pid, Parent: pid - 1, Birth: uint64(i) + 2}
			if i == 0 || i%2 == 0 {
				e.Parent = root
			}
			in.Again = append(in.Again, e)
		}
		begun := processorTime(t)
		s.core.Step(s.now, in)
		took := processorTime(t) - begun
		if len(s.core.procs) != births+1 {
			t.Fatalf("%d processes, want %d", len(s.core.procs), births+1)
		}
		return took
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	take(most / 16)
	few, many := take(most/16), take(most)
	t.Logf("%d births: %v, %d: %v", most/16, few, most, many)
	if many > 64*few+time.Second/2 {
		t.Errorf("%d births took %v, a sixteenth of them %v", most, many, few)
	}
}

package master

import (
	"log/slog"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
	"bproc/wire/link"
)

// quiet is a peer that takes everything.
type quiet struct{}

func (quiet) Put(uint64, wire.Message) error                { return nil }
func (quiet) Close(error)                                   {}
func (quiet) Certificate() link.Validity                    { return link.Validity{} }
func (quiet) Connected() (bool, time.Time, <-chan struct{}) { return true, time.Time{}, nil }

// processorTime returns how much of it this thread has taken.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestMuchToldAgain: what is told again is taken in in a time that grows with it, and not with
// its square.
func TestMuchToldAgain(t *testing.T) {
	const most = 1 << 17
	take := func(births int) time.Duration {
		nodes := load(t, new(memory))
		if _, _, err := nodes.join("key", 0, "", time.Now(), unconnected); err != nil {
			t.Fatal(err)
		}
		c := newCore(slog.New(slog.DiscardHandler), testLease, nodes, pidmap.NewAllocator(pidmap.Config{}), quiet{})
		c.front = &madeUpFrontEnd{procs: map[wire.PID]frontProc{}}
		const root wire.PID = 4711
		c.found[root] = new(signals)
		c.foundHow[root] = wire.Adopted{PID: root, Owner: ownership(0, 0)}
		c.blocks.of[0] = []wire.Block{{First: pidmap.Node, Count: most}}
		s := &session{peer: link.Peer{Key: "key"}, link: quiet{}, out: quiet{}}
		s.inventory.PIDs, s.inventory.Births = []wire.PID{root}, []uint64{1}
		s.inventory.Blocks = []wire.Block{{First: pidmap.Node, Count: most}}
		for i := range births { // all live, and each is made by the one before
			pid := pidmap.Node + wire.PID(i)
			e := wire.Event{Kind: wire.EventForked, PID: pid, Parent: pid - 1, Birth: uint64(i) + 2}
			if i == 0 || i%2 == 0 {
				e.Parent = root
			}
			s.again = append(s.again, e)
		}
		s.inventory.Again = uint64(births)
		begun := processorTime(t)
		if err := c.sessionUp(s, time.Now()); err != nil {
			t.Fatal(err)
		}
		took := processorTime(t) - begun
		if len(c.procs) != births+1 {
			t.Fatalf("%d processes, want %d", len(c.procs), births+1)
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

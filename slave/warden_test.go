package slave

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// madeUpKernel is a space's kernel as a warden sees it.
type madeUpKernel struct {
	last    wire.PID
	emptied int
	nice    int // of the thread that attends, as getpriority(2) gives it: 20 - nice
}

func (k *madeUpKernel) Last() wire.PID { return k.last }

func (k *madeUpKernel) Emptied() { k.emptied++ }

func (k *madeUpKernel) Attend(ctx context.Context, _ func(procevents.Record)) error {
	k.nice, _ = unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestWarden gives notices in turn, and checks the order of the reactions.
func TestWarden(t *testing.T) {
	var did []string
	do := func(what string) func() error {
		return func() error { did = append(did, what); return nil }
	}
	kernel := &madeUpKernel{}
	n := &numbers{
		log: slog.New(slog.DiscardHandler), cursor: pidmap.NewCursor(wire.Block{}), tasks: func() int { return 0 },
		set:   func(wire.PID) error { kernel.last = 0; return do("move")() },
		arm:   func(wire.PID) {},
		allow: func(procevents.Range) {},
		fence: func(_, _ wire.Block) error { return nil },
	}
	w := &warden{
		log: n.log, source: kernel, numbers: n, hold: &hold{freeze: do("freeze"), thaw: do("thaw")},
		kill: func(wire.PID) error { return do("kill")() }, full: make(chan struct{}, 1),
	}
	if err := n.add([]wire.Block{{First: firstPID, Count: 100}, {First: secondPID, Count: 100}}); err != nil {
		t.Fatal(err)
	}
	did = nil
	for _, c := range []struct {
		name string
		last wire.PID
		say  func()
		want []string
	}{
		{"in time", firstPID + 30, func() { w.notice(procevents.Record{Kind: procevents.CursorLow, PID: firstPID + 25}) }, []string{"move"}},
		{"late", secondPID + 90, func() { w.notice(procevents.Record{Kind: procevents.CursorLow, PID: secondPID + 25}) }, []string{"freeze", "move", "thaw"}},
		{"in another block", firstPID + 99, func() { w.notice(procevents.Record{Kind: procevents.Stray, PID: secondPID + 3, Parent: secondPID}) }, []string{"freeze", "move", "thaw"}},
		{"in none", secondPID + 99, func() { w.notice(procevents.Record{Kind: procevents.Stray, PID: thirdPID, Parent: firstPID}) }, []string{"freeze", "move", "thaw", "kill"}},
		{"another, before it is moved", 0, func() { w.notice(procevents.Record{Kind: procevents.Stray, PID: thirdPID + 1, Parent: firstPID}) }, []string{"move", "kill"}},
		{"records fill", 0, func() { w.notice(procevents.Record{Kind: procevents.Filling}) }, []string{"freeze"}},
		{"still", 0, func() { w.notice(procevents.Record{Kind: procevents.Filling}) }, nil},
		{"late meanwhile", secondPID + 90, func() { w.notice(procevents.Record{Kind: procevents.CursorLow, PID: secondPID + 25}) }, []string{"move"}},
		{"taken in", 0, w.emptied, []string{"thaw"}},
		{"taken in again", 0, w.emptied, nil},
	} {
		kernel.last = c.last
		did = nil
		c.say()
		if !slices.Equal(did, c.want) {
			t.Errorf("%s: did %v, want %v", c.name, did, c.want)
		}
	}
	if kernel.emptied != 1 || len(w.full) != 1 {
		t.Errorf("%d and %d words about the records, want one of each", kernel.emptied, len(w.full))
	}
}

// TestWardenRuns checks the priority of its thread, which no other goroutine gets.
func TestWardenRuns(t *testing.T) {
	kernel := &madeUpKernel{}
	w := &warden{log: slog.New(slog.DiscardHandler), source: kernel, full: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended, drained := make(chan error), make(chan struct{})
	go func() { ended <- w.run(ctx) }()
	go func() { ended <- w.empty(ctx, func() { close(drained) }) }()
	w.full <- struct{}{}
	<-drained
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if kernel.nice != 20-wardenPriority {
		t.Errorf("the thread's priority is %d, want %d", kernel.nice, 20-wardenPriority)
	}
}

func TestRaisePriority(t *testing.T) {
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its priority
		before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		if err != nil {
			ended <- err
			return
		}
		err = raisePriority()
		if now, _ := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && now != 20-daemonPriority {
			err = errors.New("priority was not raised")
		}
		ended <- errors.Join(err, setPriority(20-before))
	}()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

package slave

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bproc/slave/core"
	"bproc/slave/journal"
	"bproc/slave/procevents"
	"bproc/wire"
)

// madeUpInit is a space that ignores all orders.
type madeUpInit struct{}

func (madeUpInit) KillAll() error                { return nil }
func (madeUpInit) Deadline(time.Time) error      { return nil }
func (madeUpInit) SetParent(_, _ wire.PID)       {}
func (madeUpInit) Forget(...wire.PID) error      { return nil }
func (madeUpInit) Resume(_, _, _ wire.PID)       {}
func (madeUpInit) SignalOnce(*wire.Signal) error { return nil }
func (madeUpInit) Kill(wire.PID) error           { return nil }

// newTestState returns a state with a journal of its own.
func newTestState(t *testing.T) *state {
	t.Helper()
	j, err := journal.Create(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	held := &hold{freeze: func() error { return nil }, thaw: func() error { return nil }}
	s := newState(slog.New(slog.DiscardHandler), newOutlet(nil), held, madeUpInit{})
	if err := s.begin(j.Log()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStateOfTheNext has the journal written anew. The next daemon knows its content.
func TestStateOfTheNext(t *testing.T) {
	s := newTestState(t)
	s.tracker = procevents.NewTracker(procevents.DefaultHold, nil)
	s.step(core.SessionUp{Session: 1})
	const many = 50_000 // records of more than a megabyte
	for i := range many {
		pid := wire.PID(100 + i%10)
		s.step(core.Launch{Session: 1, Spawn: &wire.Spawn{PID: pid, Launch: uint64(i) + 1}})
	}
	next := newState(s.log, s.out, s.hold, madeUpInit{})
	if err := next.begin(s.journal); err != nil {
		t.Fatal(err)
	}
	known := next.known()
	if len(known) != 10 || known[109].Birth != many {
		t.Errorf("the next knows %d processes, the last %+v", len(known), known[109])
	}
}

// TestStateWithoutRewrite: a journal that cannot be written anew still gets what comes.
func TestStateWithoutRewrite(t *testing.T) {
	s := newTestState(t)
	s.tracker = procevents.NewTracker(procevents.DefaultHold, nil)
	s.step(core.SessionUp{Session: 1})
	unfit := wire.Event{Kind: wire.EventExeced, PID: 100, Comm: strings.Repeat("x", wire.MaxMessage)}
	s.step(core.Told{Events: wire.Events{First: 1, Events: []wire.Event{unfit}}, States: []core.Known{{PID: 100}}})
	const many = 50_000 // records of more than a megabyte
	for i := range many {
		s.step(core.Launch{Session: 1, Spawn: &wire.Spawn{PID: 101, Launch: uint64(i) + 1}})
	}
	next := newState(s.log, s.out, s.hold, madeUpInit{})
	if err := next.begin(s.journal); err != nil {
		t.Fatal(err)
	}
	if got := next.known()[101].Birth; got != many {
		t.Errorf("the next knows launch %d, want %d", got, many)
	}
}

// TestCallers: an answer reaches the caller that waits for it, and a caller that has left is
// forgotten.
func TestCallers(t *testing.T) {
	s := newTestState(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		answers := make(chan string, 2)
		for pid := range int64(2) {
			go func() {
				r, err := s.call(ctx, uint64(pid), &wire.Call{Caller: 17, Op: wire.CallExists, Args: []int64{pid}})
				if err != nil {
					answers <- err.Error()
					return
				}
				answers <- fmt.Sprintf("%d: %d", pid, r.Value)
			}()
		}
		synctest.Wait()
		for range 2 {
			s.step(core.FromMaster{Number: 1, Message: &wire.Return{Value: 100}})
		}
		if got := <-answers; got != "1: 100" {
			t.Errorf("got %q", got)
		}
		cancel(errors.New("gone"))
		if got := <-answers; got != "gone" {
			t.Errorf("got %q", got)
		}
		s.step(core.FromMaster{Number: 0, Message: &wire.Return{}})
	})
	if len(s.callers) > 0 {
		t.Errorf("%d still wait", len(s.callers))
	}
}

// TestCallWithoutFrame: a call that cannot be sent is answered.
func TestCallWithoutFrame(t *testing.T) {
	s := newTestState(t)
	s.tracker = procevents.NewTracker(procevents.DefaultHold, nil)
	s.step(core.SessionUp{Session: 1})
	r, err := s.call(t.Context(), 1, &wire.Call{Args: make([]int64, 10<<20)})
	if err != nil || r.Errno == 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

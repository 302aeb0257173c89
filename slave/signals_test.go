package slave

import (
	"context"
	"slices"
	"testing"

	"bproc/wire"
)

func TestSignals(t *testing.T) {
	told := make(chan *wire.SignalsTaken, 10)
	s := newSignals(func(m *wire.SignalsTaken) { told <- m })
	for _, c := range []struct {
		pid   wire.PID
		seq   uint64
		fresh bool
	}{{100, 5, true}, {100, 5, false}, {100, 4, false}, {101, 4, true}, {100, 7, true}, {100, 0, true}, {100, 0, true}} {
		m := &wire.Signal{PID: c.pid, Seq: c.seq, Boot: 1}
		if got := s.fresh(m); got != c.fresh {
			t.Errorf("signal %d of %d is fresh: %v", c.seq, c.pid, got)
		}
		s.given(m)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.run(ctx) }()
	if got, want := <-told, []wire.Mark{{PID: 100, Seq: 7}, {PID: 101, Seq: 4}}; !slices.Equal(got.Marks, want) || got.Boot != 1 {
		t.Errorf("told %+v, want %v of boot 1", got, want)
	}
	s.given(&wire.Signal{PID: 101, Seq: 4, Boot: 1}) // repeated by another master
	if got, want := <-told, []wire.Mark{{PID: 101, Seq: 4}}; !slices.Equal(got.Marks, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSignalsOfAnotherBoot has the front end start anew: it counts its signals from the
// beginning, and its processes have numbers that others had.
func TestSignalsOfAnotherBoot(t *testing.T) {
	var s *signals
	told := make(chan *wire.SignalsTaken, 10)
	s = newSignals(func(m *wire.SignalsTaken) { told <- m })
	s.given(&wire.Signal{PID: 100, Seq: 5000, Boot: 1})
	s.given(&wire.Signal{PID: 101, Seq: 5001, Boot: 1})
	next := &wire.Signal{PID: 100, Seq: 50, Boot: 2}
	if !s.fresh(next) {
		t.Error("a signal of the next boot of the front end is not given")
	}
	s.given(next)
	if s.fresh(next) {
		t.Error("it is given twice")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.run(ctx) }()
	if got, want := <-told, []wire.Mark{{PID: 100, Seq: 50}}; !slices.Equal(got.Marks, want) || got.Boot != 2 {
		t.Errorf("told %+v, want %v of boot 2", got, want)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSignalsOfTheEnded: what a process got says nothing about the next one with its
// number.
func TestSignalsOfTheEnded(t *testing.T) {
	s := newSignals(func(*wire.SignalsTaken) {})
	s.given(&wire.Signal{PID: 100, Seq: 50, Boot: 1})
	s.ended(100)
	if !s.fresh(&wire.Signal{PID: 100, Seq: 40, Boot: 1}) {
		t.Error("the number of the last signal of a process that has ended counts")
	}
}

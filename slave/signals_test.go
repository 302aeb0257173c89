package slave

import (
	"context"
	"slices"
	"testing"

	"bproc/wire"
)

func TestSignals(t *testing.T) {
	told := make(chan []wire.Mark, 10)
	s := newSignals(func(marks []wire.Mark) { told <- marks })
	for _, c := range []struct {
		pid   wire.PID
		seq   uint64
		fresh bool
	}{{100, 5, true}, {100, 5, false}, {100, 4, false}, {101, 4, true}, {100, 7, true}, {100, 0, true}, {100, 0, true}} {
		m := &wire.Signal{PID: c.pid, Seq: c.seq}
		if got := s.fresh(m); got != c.fresh {
			t.Errorf("signal %d of %d is fresh: %v", c.seq, c.pid, got)
		}
		s.given(m)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.run(ctx) }()
	if got, want := <-told, []wire.Mark{{PID: 100, Seq: 7}, {PID: 101, Seq: 4}}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	s.given(&wire.Signal{PID: 101, Seq: 4}) // repeated by another master
	if got, want := <-told, []wire.Mark{{PID: 101, Seq: 4}}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

package master

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"bproc/master/core"
	"bproc/wire"
)

// TestWorker has jobs done one after the other.
func TestWorker(t *testing.T) {
	w := newWorker()
	ctx, end := context.WithCancel(t.Context())
	ended, done := make(chan error, 1), make(chan struct{})
	go func() { ended <- w.run(ctx) }()
	var order []int
	for i := range 100 {
		w.add(0, func() { order = append(order, i) })
	}
	w.add(0, func() { close(done) })
	<-done
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Errorf("done in the order %v", order)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.add(0, func() { t.Error("done after the end") })
	if err := w.run(ctx); err != nil {
		t.Error(err)
	}
}

// TestWorkerTakesTurns has one user ask for much: others do not wait for all of it.
func TestWorkerTakesTurns(t *testing.T) {
	w := newWorker()
	var order []int64
	for i := range 100 {
		w.add(1, func() { order = append(order, 1) })
		if i == 50 {
			for _, other := range []int64{-1, 2, 2} {
				w.add(other, func() { order = append(order, other) })
			}
		}
	}
	for job := w.next(); job != nil; job = w.next() {
		job()
	}
	if len(order) != 103 || !slices.Equal(order[:7], []int64{1, -1, 2, 1, 2, 1, 1}) || len(w.jobs) != 0 {
		t.Errorf("done in the order %v; %d have jobs", order, len(w.jobs))
	}
}

// TestWhose has work for a user on two nodes, and on the front end.
func TestWhose(t *testing.T) {
	l := &lookedAt{t: t, m: newMade(t, 3, 4)}
	held := []core.Held{heldFor(60, 3, 1000, 1000), heldFor(61, 4, 1000, 1000)}
	l.m.state.core.Step(time.Now().Add(-time.Hour), core.KeeperFound{Held: held})
	l.m.connect(t, 3, nil, 60)
	l.m.connect(t, 4, nil, 61)
	seen := map[int64]wire.PID{}
	l.m.state.look(func(*core.Core) {
		for _, pid := range []wire.PID{60, 61, wire.PID(os.Getpid())} {
			whom := l.m.whose(pid)
			if other, is := seen[whom]; is {
				t.Errorf("processes %d and %d wait for each other", pid, other)
			}
			seen[whom] = pid
		}
	})
}

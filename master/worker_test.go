package master

import (
	"context"
	"slices"
	"testing"
)

// TestWorker has jobs done one after the other.
func TestWorker(t *testing.T) {
	w := newWorker()
	ctx, end := context.WithCancel(t.Context())
	ended, done := make(chan error, 1), make(chan struct{})
	go func() { ended <- w.run(ctx) }()
	var order []int
	for i := range 100 {
		w.add(func() { order = append(order, i) })
	}
	w.add(func() { close(done) })
	<-done
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Errorf("done in the order %v", order)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.add(func() { t.Error("done after the end") })
	if err := w.run(ctx); err != nil {
		t.Error(err)
	}
}

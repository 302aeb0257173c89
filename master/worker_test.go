package master

import (
	"context"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestWorker has jobs done one after the other, while the core takes inputs.
func TestWorker(t *testing.T) {
	m := &Master{inputs: make(chan func(*core), inputQueue)}
	c := newScript(t).core
	ctx, end := context.WithCancel(t.Context())
	var group errgroup.Group
	group.Go(func() error { return m.work(ctx, c.jobs) })
	var order []int
	for i := range 3 {
		c.slowly(func() func() {
			return func() { order = append(order, i) }
		})
	}
	for len(order) < 3 {
		(<-m.inputs)(c)
	}
	if !slices.Equal(order, []int{0, 1, 2}) || c.busy {
		t.Errorf("done in the order %v, busy %v", order, c.busy)
	}
	end()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

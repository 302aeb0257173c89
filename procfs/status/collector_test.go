package status_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"bproc/procfs/status"
	"bproc/wire"
)

// slowMarker takes its time, and counts its passes.
type slowMarker struct {
	mu     sync.Mutex
	passes int
	took   time.Duration
	rest   []time.Duration // between passes
	end    time.Time
}

func (m *slowMarker) Marks(yield func(status.Mark)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.passes++; m.passes > 1 {
		m.rest = append(m.rest, time.Since(m.end))
	}
	time.Sleep(m.took)
	m.end = time.Now()
	return nil
}

func (m *slowMarker) Close() error { return nil }

// TestPressing checks that a pressing viewer sees a process that was born after a pass for another
// viewer.
func TestPressing(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	tells := func(v *status.View, pressing bool, pid wire.PID) (is bool) {
		t.Helper()
		if err := v.Refresh(pressing, func(m *wire.Changed) error {
			is = is || slices.ContainsFunc(m.Procs, func(t wire.Texts) bool { return t.PID == pid })
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return is
	}
	for range 10 {
		if err := c.View(false).Refresh(false, func(*wire.Changed) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if pid := s.start("sleep 1000"); !tells(c.View(false), true, pid) {
			t.Errorf("%d, which is there, is not told", pid)
		}
	}
}

// TestManyPress has many viewers press all the time. The node rests longer than it works for them.
func TestManyPress(t *testing.T) {
	marker := &slowMarker{took: 10 * time.Millisecond}
	c := status.New(status.Config{Marker: marker, Parent: func(wire.PID) wire.PID { return 0 }})
	var viewers sync.WaitGroup
	for range 8 {
		viewers.Go(func() {
			v := c.View(false)
			for range 4 {
				if err := v.Refresh(true, func(*wire.Changed) error { return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	viewers.Wait()
	if marker.passes < 4 || marker.passes == 8*4 {
		t.Errorf("%d passes for 8 viewers that press 4 times each", marker.passes)
	}
	for _, rest := range marker.rest {
		if rest < 3*marker.took {
			t.Errorf("between passes of %v there were %v", marker.took, rest)
		}
	}
}

package pid1

import (
	"testing"

	"bproc/wire"
)

func TestMarks(t *testing.T) {
	var m marks
	m.init(func(wire.PID) bool { return true })
	m.set(7, 10)
	m.set(8, 0)
	for _, c := range []struct {
		pid  wire.PID
		seq  uint64
		want bool
	}{{7, 0, false}, {7, 9, true}, {7, 10, true}, {7, 11, false}, {8, 0, false}, {8, 1, false}} {
		if got := m.had(c.pid, c.seq); got != c.want {
			t.Errorf("%d, number %d: got %v, want %v", c.pid, c.seq, got, c.want)
		}
	}
	m.forget(7)
	if m.had(7, 10) {
		t.Error("mark of a process that has ended")
	}
}

// Marks of processes that are no more do not gather.
func TestMarksAreBounded(t *testing.T) {
	var m marks
	m.init(func(pid wire.PID) bool { return pid%100 == 0 })
	for pid := range wire.PID(20 * leastCrowd) {
		m.set(pid, 1)
	}
	if len(m.last) > 2*leastCrowd {
		t.Errorf("%d marks", len(m.last))
	}
	if !m.had(500, 1) {
		t.Error("the mark of a process that is there is gone")
	}
}

package pid1

import (
	"testing"

	"bproc/wire"
)

func TestMarks(t *testing.T) {
	var m marks
	m.init(func(wire.PID) bool { return true })
	m.set(numbered(7, 10, 1))
	m.set(numbered(8, 0, 0))
	for _, c := range []struct {
		pid  wire.PID
		seq  uint64
		want bool
	}{{7, 0, false}, {7, 9, true}, {7, 10, true}, {7, 11, false}, {8, 0, false}, {8, 1, false}} {
		if got := m.had(numbered(c.pid, c.seq, 1)); got != c.want {
			t.Errorf("%d, number %d: got %v, want %v", c.pid, c.seq, got, c.want)
		}
	}
	m.Forget(7)
	if m.had(numbered(7, 10, 1)) {
		t.Error("mark of a process that has ended")
	}
}

// A front end that has rebooted numbers its signals from the beginning, and its processes have
// numbers that others had.
func TestMarksOfAnotherBoot(t *testing.T) {
	var m marks
	m.init(func(wire.PID) bool { return true })
	m.set(numbered(7, 5000, 1))
	if m.had(numbered(7, 50, 2)) {
		t.Error("a signal of the next boot of the front end counts as given")
	}
	m.set(numbered(7, 50, 2))
	if !m.had(numbered(7, 0, 0)) && !m.had(numbered(7, 50, 2)) {
		t.Error("a signal that has no number makes the marks be forgotten")
	}
}

func numbered(pid wire.PID, seq, boot uint64) *wire.InitSignal {
	return &wire.InitSignal{PID: pid, Seq: seq, Boot: boot}
}

// Marks of processes that are gone do not accumulate.
func TestMarksAreBounded(t *testing.T) {
	var m marks
	m.init(func(pid wire.PID) bool { return pid%100 == 0 })
	for pid := range wire.PID(20 * leastCrowd) {
		m.set(numbered(pid, 1, 1))
	}
	if m.Len() > 2*leastCrowd {
		t.Errorf("%d marks", m.Len())
	}
	if !m.had(numbered(500, 1, 1)) {
		t.Error("the mark of a process that is there is gone")
	}
}

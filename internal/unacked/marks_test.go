package unacked_test

import (
	"testing"

	"bproc/internal/unacked"
	"bproc/wire"
)

func TestMarks(t *testing.T) {
	var m unacked.Marks
	if m.Had(7, 1, 1) {
		t.Error("an item was got before any")
	}
	m.Forget(7)
	if got := m.Set(7, 1, 10); got != 10 || m.Boot() != 1 {
		t.Errorf("got mark %d of boot %d, want 10 of 1", got, m.Boot())
	}
	if got := m.Set(7, 1, 4); got != 10 { // it was got before
		t.Errorf("got mark %d, want 10", got)
	}
	if m.Set(8, 1, 0) != 0 || m.Len() != 1 {
		t.Error("an item without a number has a mark")
	}
	for number, want := range map[uint64]bool{0: false, 4: true, 10: true, 11: false} {
		if got := m.Had(7, 1, number); got != want {
			t.Errorf("number %d: got %t, want %t", number, got, want)
		}
	}
	m.Set(9, 1, 12)
	m.Keep(func(pid wire.PID) bool { return pid == 9 })
	if m.Had(7, 1, 10) || !m.Had(9, 1, 12) {
		t.Error("only the mark of 9 is kept")
	}
	if m.SetBoot(1, 13) || m.SetBoot(2, 0) || !m.SetBoot(2, 1) || m.Had(9, 2, 5) || m.Len() != 0 {
		t.Errorf("marks of another boot: %d", m.Len())
	}
	m.Set(9, 2, 5)
	m.Clear()
	if m.Had(9, 2, 5) {
		t.Error("all were forgotten")
	}
}

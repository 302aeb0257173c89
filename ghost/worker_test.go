package ghost

import "testing"

// TestNoWorkerIsForgotten has a worker's ghost stop while the shard checks for it: the worker goes
// on, or is still among the waiting ones.
func TestNoWorkerIsForgotten(t *testing.T) {
	s := new(shard)
	went := 0
	for range 3 {
		w := new(worker)
		w.next = func() (struct{}, bool) { went++; return struct{}{}, true }
		s.away = append(s.away, w)
	}
	looks := 0
	s.goOnWith(func(*worker) bool { looks++; return looks > 2 })
	if went+len(s.away) != 3 || went != 1 {
		t.Errorf("%d went on, %d wait, want 1 and 2", went, len(s.away))
	}
}

package giveback

import (
	"runtime"
	"testing"
	"time"
)

const much = 64 << 20

var kept []byte

// take allocates memory.
func take() {
	kept = make([]byte, much)
	for i := range kept {
		kept[i] = 1
	}
}

// TestSoon uses much memory for a moment.
func TestSoon(t *testing.T) {
	g := new(Giver)
	take()
	kept = nil
	begin := time.Now()
	g.Soon()
	time.Sleep(delay / 2)
	g.Soon()
	for heap() > much {
		if time.Since(begin) > time.Minute {
			t.Fatalf("the heap has %d bytes still", heap())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestNeeded allocates memory and keeps it: the next return is not made at once, but later.
func TestNeeded(t *testing.T) {
	g := new(Giver)
	take()
	defer func() { kept = nil }()
	g.give()
	if g.needed < much {
		t.Errorf("%d bytes are needed, %d are in use", g.needed, much)
	}
	before := collections()
	g.give()
	if now := collections(); now != before {
		t.Errorf("%d collections for what is needed", now-before)
	}
	if !g.timer.Stop() {
		t.Error("nobody looks again")
	}
	if g.later == nil || !g.later.Stop() {
		t.Error("memory is not given back once more")
	}
	kept = nil
	g.last = time.Now().Add(-again)
	g.give()
	if g.needed > much {
		t.Errorf("%d bytes are needed when all is over", g.needed)
	}
}

func collections() uint32 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.NumGC
}

// TestCallsAllTheTime asks more often than there is a moment without a call.
func TestCallsAllTheTime(t *testing.T) {
	g := new(Giver)
	take()
	defer func() { kept = nil }()
	g.Soon()
	g.mu.Lock()
	g.asked = g.asked.Add(-most)
	g.mu.Unlock()
	returned := func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return !g.last.IsZero()
	}
	for begin := time.Now(); !returned(); g.Soon() {
		if time.Since(begin) > time.Minute {
			t.Fatal("nothing is returned")
		}
		time.Sleep(delay / 100)
	}
}

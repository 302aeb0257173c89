package ghost

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// has returns the kept signals: the ghost, the signal, and its number relative to zero.
func (k *keptSignals) has(zero uint64) []string {
	has := []string{}
	for _, m := range k.all() {
		has = append(has, fmt.Sprintf("%d: %d at %d", m.PID, (*siginfo)(m.Info).signal(), m.Seq-zero))
	}
	return has
}

// put keeps a signal of a ghost, and returns its number.
func (k *keptSignals) put(pid wire.PID, sig unix.Signal) (seq uint64, full bool) {
	m := &wire.GhostSignal{PID: pid, Info: signalInfo(sig, 0)[:]}
	full = k.add(m)
	return m.Seq, full
}

func TestKept(t *testing.T) {
	k := newKeptSignals()
	zero := k.seq
	for _, c := range []struct {
		name string
		do   func()
		want []string
	}{
		{"none", func() {}, []string{}},
		{"of two ghosts", func() {
			k.put(7, 15)
			k.put(5, 10)
			k.put(7, 12)
		}, []string{"7: 15 at 1", "5: 10 at 2", "7: 12 at 3"}},
		{"taken by another", func() { k.taken(wire.Mark{PID: 6, Seq: zero + 9}) }, []string{"7: 15 at 1", "5: 10 at 2", "7: 12 at 3"}},
		{"taken up to a number", func() { k.taken(wire.Mark{PID: 7, Seq: zero + 2}) }, []string{"5: 10 at 2", "7: 12 at 3"}},
		{"taken before", func() { k.taken(wire.Mark{PID: 7, Seq: zero + 1}) }, []string{"5: 10 at 2", "7: 12 at 3"}},
		{"ended", func() { k.forget(7); k.forget(8) }, []string{"5: 10 at 2"}},
		{"all taken", func() { k.taken(wire.Mark{PID: 5, Seq: zero + 2}) }, []string{}},
	} {
		c.do()
		if got := k.has(zero); !slices.Equal(got, c.want) {
			t.Errorf("%s: kept %v, want %v", c.name, got, c.want)
		}
		if k.count != len(c.want) {
			t.Errorf("%s: count %d, want %d", c.name, k.count, len(c.want))
		}
	}
	if len(k.of) > 0 {
		t.Errorf("queues of nothing: %v", k.of)
	}
}

// TestKeptBounds floods one ghost, and then all ghosts.
func TestKeptBounds(t *testing.T) {
	k := newKeptSignals()
	zero := k.seq
	k.put(1, unix.SIGKILL)
	fulls := 0
	for range maxKept + 9 {
		if _, full := k.put(1, 50); full {
			fulls++
		}
	}
	if has := k.has(zero); len(has) != maxKept || has[0] != "1: 9 at 1" || has[1] != "1: 50 at 12" {
		t.Errorf("kept %d: %v", len(has), has[:2])
	}
	if fulls != 1 {
		t.Errorf("told %d times of one ghost that it is full", fulls)
	}
	for pid := wire.PID(2); k.count < maxKeptAll; pid++ {
		for range maxKept {
			k.put(pid, 50)
		}
	}
	const late = 1000
	for i := range leastKept {
		if _, full := k.put(late, 15); full || k.of[late].Len() != i+1 {
			t.Errorf("signal %d of one more: full %v, %d kept", i+1, full, k.of[late].Len())
		}
	}
	seq, full := k.put(late, 15)
	if !full || k.of[late].Len() != leastKept || k.count != maxKeptAll+leastKept {
		t.Errorf("one more: full %v, %d kept, %d in all", full, k.of[late].Len(), k.count)
	}
	for i := range leastKept + 3 {
		if next, _ := k.put(late, unix.SIGKILL); next != seq+1+uint64(i) || k.of[late].Len() != max(leastKept, i+1) {
			t.Errorf("SIGKILL: number %d after %d, kept %v", next, seq, k.of[late].Len())
		}
	}
	k.forget(late)
	for pid := range k.of {
		k.forget(pid)
	}
	if k.count != 0 {
		t.Errorf("count %d of nothing", k.count)
	}
}

// nextSignal waits for the next report of a signal for any ghost.
func (f *fixture) nextSignal(t *testing.T) *wire.GhostSignal {
	t.Helper()
	return f.take(t, "signal", func(e event) bool {
		_, ok := e.msg.(*wire.GhostSignal)
		return ok
	}).msg.(*wire.GhostSignal)
}

// TestToldAgain checks that signals are reported to each new master until they are taken.
func TestToldAgain(t *testing.T) {
	f := newFixture(t)
	a, b := f.ghost(t, nobody, "a"), f.ghost(t, nobody, "b")
	var told []*wire.GhostSignal
	for i := range 6 {
		pid := []wire.PID{a, b}[i%2]
		if err := queueSignal(pid, unix.Signal(50), uint64(i)); err != nil {
			t.Fatal(err)
		}
		m := f.nextSignal(t)
		if m.PID != pid || i > 0 && m.Seq <= told[i-1].Seq {
			t.Fatalf("signal %d: for %d, number %d", i, m.PID, m.Seq)
		}
		told = append(told, m)
	}
	again := func(want []*wire.GhostSignal) {
		t.Helper()
		f.nextMaster(t)
		for _, w := range want {
			m := f.nextSignal(t)
			if m.PID != w.PID || m.Seq != w.Seq || !slices.Equal(m.Info, w.Info) {
				t.Errorf("told again: %d for %d, want %d for %d", m.Seq, m.PID, w.Seq, w.PID)
			}
		}
		f.must(t, &wire.GhostSync{PID: a})
		f.quiet(t)
	}
	again(told)
	again(told)
	f.tell(t, &wire.GhostTaken{Marks: []wire.Mark{{PID: b, Seq: told[3].Seq}, {PID: a, Seq: told[0].Seq}}})
	left := []*wire.GhostSignal{told[2], told[4], told[5]}
	again(left)
	f.end(t, b, 0)
	f.gone(t, b)
	again(left[:2])
	f.end(t, a, 0)
}

// tell sends a request that has no answer.
func (f *fixture) tell(t testing.TB, m wire.Message) {
	t.Helper()
	if err := wire.Write(f.client, 0, m); err != nil {
		t.Fatal(err)
	}
}

// TestLastWords has a master die with unread requests. They are carried out before the next master
// is served, and not answered.
func TestLastWords(t *testing.T) {
	f := newFixture(t)
	parent := f.ghost(t, nobody, "sh")
	const count = 200
	var frames []byte
	for i := range wire.PID(count) {
		var err error
		if frames, err = wire.Append(frames, uint64(1000+i), &wire.GhostFork{Parent: parent, Child: 3000000 + i}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.client.Write(frames); err != nil {
		t.Fatal(err)
	}
	f.nextMaster(t)
	if held := f.client.Held(); len(held) != count+1 {
		t.Errorf("the next master finds %d ghosts, want %d", len(held), count+1)
	}
	for i := range wire.PID(count) {
		f.tell(t, &wire.GhostExit{PID: 3000000 + i})
	}
	for i := range wire.PID(count) {
		f.gone(t, 3000000+i)
	}
	f.mu.Lock()
	for _, e := range f.events {
		t.Errorf("the next master is told %T with number %d", e.msg, e.number)
	}
	f.mu.Unlock()
	f.end(t, parent, 0)
}

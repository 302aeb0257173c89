package slave

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bproc/pidmap"
	"bproc/slave/journal"
	"bproc/slave/procevents"
	"bproc/wire"
)

// newTestLedger returns a ledger in a journal of its own, from which nothing is
// forgotten.
func newTestLedger(t *testing.T) *ledger {
	t.Helper()
	j, err := journal.Create(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return newLedger(j.Log(), func(...wire.PID) error { return nil })
}

// next returns the ledger of the daemon that comes when the one of l dies now.
func next(t *testing.T, l *ledger) *ledger {
	t.Helper()
	n := newLedger(l.log, func(...wire.PID) error { return nil })
	if err := n.resume(); err != nil {
		t.Fatal(err)
	}
	return n
}

func tell(t *testing.T, l *ledger, events ...wire.Event) {
	t.Helper()
	states := make([]procevents.Known, len(events))
	for i, e := range events {
		states[i] = procevents.Known{PID: e.PID, Birth: e.Birth, PGID: e.PGID, Launched: e.PID < pidmap.Node}
	}
	if err := l.tell(events, states, l.position+1); err != nil {
		t.Fatal(err)
	}
}

func TestLedger(t *testing.T) {
	l := newTestLedger(t)
	var forgotten []wire.PID
	l.forget = func(pids ...wire.PID) error { forgotten = append(forgotten, pids...); return nil }
	expect := func(pids, starting, again []wire.PID) {
		t.Helper()
		for _, l := range []*ledger{next(t, l), l} {
			var inv wire.Inventory
			events := l.begin(&inv)
			gotPIDs, gotStarting, gotAgain := inv.PIDs, inv.Starting, []wire.PID(nil)
			for _, e := range events {
				gotAgain = append(gotAgain, e.PID)
			}
			if !slices.Equal(gotPIDs, pids) || !slices.Equal(gotStarting, starting) || !slices.Equal(gotAgain, again) {
				t.Errorf("begins with %v, starting %v, again %v, want %v, %v, %v", gotPIDs, gotStarting, gotAgain, pids, starting, again)
			}
		}
	}
	confirm := func(event uint64) {
		t.Helper()
		if err := l.confirm(event); err != nil {
			t.Fatal(err)
		}
	}
	launch := func(pid wire.PID, birth uint64) {
		t.Helper()
		if err := l.launching(procevents.Known{PID: pid, Birth: birth, Parent: 50, Launched: true, Starting: true}); err != nil {
			t.Fatal(err)
		}
	}
	expect(nil, nil, nil)
	launch(100, 1)
	launch(101, 2)
	tell(t, l, wire.Event{Kind: wire.EventSpawned, PID: 100, Birth: 1}, wire.Event{Kind: wire.EventSpawned, PID: 101, Birth: 2, Stage: wire.StageExec, Errno: 2})
	expect([]wire.PID{100, 101}, []wire.PID{100, 101}, []wire.PID{100, 101})
	confirm(1)
	expect([]wire.PID{100, 101}, []wire.PID{101}, []wire.PID{101})
	tell(t, l, wire.Event{Kind: wire.EventForked, PID: 2000000}, wire.Event{Kind: wire.EventGrouped, PID: 2000000, PGID: 7}, wire.Event{Kind: wire.EventExited, PID: 100, Birth: 1})
	if n := len(l.now()); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
	confirm(2)
	expect([]wire.PID{100, 2000000}, nil, []wire.PID{2000000, 100})
	confirm(0)
	launch(100, 3) // its number is used again
	expect([]wire.PID{100, 2000000}, []wire.PID{100}, []wire.PID{2000000, 100})
	confirm(1 << 40) // more than was told
	expect([]wire.PID{100, 2000000}, []wire.PID{100}, nil)
	if err := l.unasked(100); err != nil {
		t.Fatal(err)
	}
	expect([]wire.PID{2000000}, nil, nil)
	launch(100, 4)
	expect([]wire.PID{100, 2000000}, []wire.PID{100}, nil)
	// Its number is used again before it was confirmed that it began.
	tell(t, l, wire.Event{Kind: wire.EventSpawned, PID: 100, Birth: 4}, wire.Event{Kind: wire.EventExited, PID: 100, Birth: 4})
	launch(100, 5)
	expect([]wire.PID{100, 2000000}, []wire.PID{100}, []wire.PID{100, 100})
	confirm(l.first + 1)
	expect([]wire.PID{100, 2000000}, []wire.PID{100}, nil)
	tell(t, l, wire.Event{Kind: wire.EventStopped, PID: 2000000, Status: 19})
	stopped := func(want ...wire.PID) {
		t.Helper()
		for _, l := range []*ledger{next(t, l), l} {
			var inv wire.Inventory
			if l.begin(&inv); !slices.Equal(inv.Stopped, want) {
				t.Errorf("%v are stopped, want %v", inv.Stopped, want)
			}
		}
	}
	stopped()
	confirm(l.first)
	stopped(2000000)
	if want := []wire.PID{101}; !slices.Equal(forgotten, want) {
		t.Errorf("forgotten: %v, want %v", forgotten, want)
	}
}

// TestLedgerOfTheNext has a daemon die again and again while much happens: the next
// knows what it knew.
func TestLedgerOfTheNext(t *testing.T) {
	l, r := newTestLedger(t), rand.New(rand.NewPCG(5, 6))
	argv := []string{strings.Repeat("x", 300)}
	for i := range 3000 {
		pid := pidmap.Node + wire.PID(r.IntN(500))
		events := make([]wire.Event, r.IntN(100))
		for n := range events {
			kinds := []wire.EventKind{wire.EventForked, wire.EventExited, wire.EventGrouped, wire.EventStopped, wire.EventReaper, wire.EventZombie}
			events[n] = wire.Event{Kind: kinds[r.IntN(len(kinds))], PID: pid + wire.PID(n), PGID: pid, Status: wire.Status(r.IntN(60)), Argv: argv}
		}
		tell(t, l, events...)
		if i%10 == 0 {
			if err := l.lease([]wire.Block{{First: pidmap.Node + wire.PID(i), Count: 17}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.confirm(l.first + uint64(r.IntN(len(l.told)+1)) - 1); err != nil {
			t.Fatal(err)
		}
		if i%100 != 0 {
			continue
		}
		n := next(t, l)
		if !maps.Equal(n.known, l.known) || !maps.Equal(n.now(), l.now()) || len(n.told) != len(l.told) {
			t.Fatalf("the next knows %d processes and %d events, want %d and %d", len(n.known), len(n.told), len(l.known), len(l.told))
		}
		if !slices.Equal(n.blocks, l.blocks) || n.position != l.position {
			t.Fatalf("the next has %v and position %d, want %v and %d", n.blocks, n.position, l.blocks, l.position)
		}
		l = n
	}
}

func TestLongArguments(t *testing.T) {
	l := newTestLedger(t)
	tell(t, l, wire.Event{Kind: wire.EventExeced, PID: 2000000, Argv: []string{"a", strings.Repeat("x", 60_000)}}, wire.Event{Kind: wire.EventExeced, PID: 2000000, Argv: []string{"b", "c"}})
	got := next(t, l).told
	if len(got) != 2 || !slices.Equal(got[0].Argv, []string{"a"}) || !slices.Equal(got[1].Argv, []string{"b", "c"}) {
		t.Errorf("the next has %v", got)
	}
	if len(l.told[0].Argv) != 2 {
		t.Error("this one has lost the arguments")
	}
}

func FuzzLedger(f *testing.F) {
	valid := appendKnown(nil, &procevents.Known{PID: 100, Launched: true})
	f.Add(uint32(recordKnown), valid)
	f.Add(uint32(recordUnasked), []byte{100, 0, 0, 0})
	f.Add(uint32(recordBlocks), appendBlocks(nil, []wire.Block{{First: pidmap.Node, Count: 10}}))
	err := logEvents(func(kind uint32, payload ...[]byte) error {
		f.Add(kind, slices.Concat(payload...))
		return nil
	}, []wire.Event{{Kind: wire.EventForked, PID: 2000000, Parent: 100}}, []procevents.Known{{PID: 2000000}}, 48)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, kind uint32, payload []byte) {
		l := newLedger(nil, nil)
		if err := l.replay(kind, payload); err != nil {
			if !errors.Is(err, journal.ErrCorrupt) {
				t.Errorf("%v is not %v", err, journal.ErrCorrupt)
			}
			return
		}
		if len(l.told) != len(l.states) {
			t.Errorf("%d events, %d states", len(l.told), len(l.states))
		}
	})
}

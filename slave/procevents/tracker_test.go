package procevents_test

import (
	"slices"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/slave/core"
	"bproc/slave/procevents"
	"bproc/wire"
)

func noImage(wire.PID) (procevents.Image, bool) { return procevents.Image{}, false }

func TestNext(t *testing.T) {
	start := time.Unix(100, 0)
	tracker := procevents.NewTracker(procevents.DefaultHold, noImage)
	tracker.Launching(core.Asked(&wire.Spawn{PID: 100}))
	if at, ok := tracker.Next(); ok {
		t.Errorf("something is due at %v, with nothing held", at)
	}
	fork := procevents.Record{Kind: procevents.Forked, PID: 2000000, Parent: 100, Creator: 100, PGID: 100, SID: 1}
	tracker.Record(fork, start)
	fork.PID = 2000001
	tracker.Record(fork, start.Add(time.Millisecond))
	if at, ok := tracker.Next(); !ok || !at.Equal(start.Add(procevents.DefaultHold)) {
		t.Errorf("due at %v, %v, want the hold time after the first birth", at, ok)
	}
	if s := tracker.Stats(); s != (procevents.Stats{Processes: 3, Queued: 2}) {
		t.Errorf("stats %+v, want 3 processes, 2 queued", s)
	}
	tracker.Record(procevents.Record{Kind: procevents.Exited, PID: 2000000}, start.Add(time.Millisecond))
	if at, ok := tracker.Next(); !ok || !at.Equal(start.Add(time.Millisecond+procevents.DefaultHold)) {
		t.Errorf("due at %v, %v, want the hold time after the second birth: the first needs none", at, ok)
	}
	if e := tracker.Flush(false, start.Add(procevents.DefaultHold)); len(e.Events) != 0 || e.Last() != 0 {
		t.Errorf("got %v before anything was due", e)
	}
	tracker.Record(procevents.Record{Kind: procevents.CursorLow, PID: 2000001}, start)
	if e := tracker.Flush(false, start.Add(time.Millisecond+procevents.DefaultHold)); len(e.Events) != 2 || e.Last() != 2 {
		t.Errorf("got %v, want Spawned and Forked", e)
	}
}

// TestReportedAreNotHeld: what happens to a process that has been reported is due at once, and takes
// along what is before it.
func TestReportedAreNotHeld(t *testing.T) {
	start := time.Unix(100, 0)
	tracker := procevents.NewTracker(procevents.DefaultHold, noImage)
	tracker.Launching(core.Asked(&wire.Spawn{PID: 100}))
	tracker.Spawned(100)
	fork := procevents.Record{Kind: procevents.Forked, PID: 2000000, Parent: 100, Creator: 100, PGID: 100, SID: 1}
	tracker.Record(fork, start)
	tracker.Flush(true, start)
	if !tracker.Told().Equal(start) {
		t.Errorf("told up to %v, want %v", tracker.Told(), start)
	}
	later := start.Add(time.Second)
	for _, pid := range []wire.PID{2000001, 2000002} {
		fork.PID = pid
		tracker.Record(fork, later)
	}
	if at, ok := tracker.Next(); !ok || !at.Equal(later.Add(procevents.DefaultHold)) {
		t.Errorf("due at %v, %v, want the hold time after the birth", at, ok)
	}
	tracker.Record(procevents.Record{Kind: procevents.Exited, PID: 2000001}, later)
	tracker.Record(procevents.Record{Kind: procevents.Exited, PID: 2000000}, later)
	fork.PID = 2000003
	tracker.Record(fork, later)
	if at, ok := tracker.Next(); !ok || !at.Equal(later) {
		t.Errorf("due at %v, %v, want now", at, ok)
	}
	events := tracker.Flush(false, later).Events
	if len(events) != 2 || events[0].PID != 2000002 || events[0].Kind != wire.EventForked || events[1].PID != 2000000 || events[1].Kind != wire.EventExited {
		t.Errorf("got %v, want the birth of 2000002 and the end of 2000000", events)
	}
	if at, ok := tracker.Next(); !ok || !at.Equal(later.Add(procevents.DefaultHold)) {
		t.Errorf("due at %v, %v, want the hold time after the last birth", at, ok)
	}
}

// TestHold: everything held is held for the time that was set last.
func TestHold(t *testing.T) {
	start := time.Unix(100, 0)
	tracker := procevents.NewTracker(procevents.DefaultHold, noImage)
	tracker.Launching(core.Asked(&wire.Spawn{PID: 100}))
	tracker.Spawned(100)
	tracker.Flush(true, start)
	tracker.Record(procevents.Record{Kind: procevents.Forked, PID: 2000000, Parent: 100, Creator: 100, PGID: 100, SID: 1}, start)
	tracker.Hold(50 * time.Millisecond)
	if at, ok := tracker.Next(); !ok || !at.Equal(start.Add(50*time.Millisecond)) {
		t.Errorf("due at %v, %v, want 50 ms after the birth", at, ok)
	}
	if e := tracker.Flush(false, start.Add(49*time.Millisecond)); len(e.Events) != 0 {
		t.Errorf("got %v before anything was due", e)
	}
	tracker.Hold(49 * time.Millisecond)
	if e := tracker.Flush(false, start.Add(49*time.Millisecond)); len(e.Events) != 1 {
		t.Errorf("got %v, want a birth", e)
	}
}

func TestRenumber(t *testing.T) {
	now := time.Unix(100, 0)
	tracker := procevents.NewTracker(procevents.DefaultHold, noImage)
	tracker.Launching(core.Asked(&wire.Spawn{PID: 100}))
	tracker.Spawned(100)
	fork := procevents.Record{Kind: procevents.Forked, PID: 2000000, Parent: 100, Creator: 100, PGID: 100, SID: 1}
	tracker.Record(fork, now)
	told := tracker.Flush(true, now)
	if told.Last() != 2 {
		t.Fatalf("got %v, want two events", told)
	}
	fork.PID = 2000001
	tracker.Record(fork, now)
	tracker.Renumber(told.Events)
	if e := tracker.Flush(true, now); e.First != 3 || e.Last() != 3 || e.Events[0].PID != 2000001 {
		t.Errorf("got %v, want the birth of 2000001 as number 3", e)
	}
	for seen, want := range [][]wire.PID{{2000000, 2000001}, {2000000, 2000001}, {2000001}, nil} {
		if late := tracker.Late(100, uint64(seen), 0); !slices.Equal(late, want) {
			t.Errorf("late for who has seen %d: %v, want %v", seen, late, want)
		}
	}
}

// TestManyAreBuried has a daemon fork and end, again and again, more often than the tracker keeps
// account of.
func TestManyAreBuried(t *testing.T) {
	now := time.Unix(100, 0)
	tracker := procevents.NewTracker(procevents.DefaultHold, noImage)
	tracker.Launching(core.Asked(&wire.Spawn{PID: 100, PGID: 90, SID: 80}))
	const generations = 3000
	parent := wire.PID(100)
	told := map[wire.PID]uint64{} // births, by the numbers of their events
	for i := range wire.PID(generations) {
		pid := pidmap.Node + i
		tracker.Record(procevents.Record{Kind: procevents.Forked, PID: pid, Parent: parent, Creator: parent, PGID: 90, SID: 80}, now)
		events := tracker.Flush(true, now)
		told[pid] = events.Last()
		if parent != 100 {
			tracker.Record(procevents.Record{Kind: procevents.Exited, PID: parent}, now)
		}
		parent = pid
	}
	tracker.Flush(true, now)
	if s := tracker.Stats(); s != (procevents.Stats{Processes: 2, Buried: 1024}) {
		t.Errorf("stats %+v, want 2 processes and 1024 who are buried", s)
	}
	for _, c := range []struct {
		pid  wire.PID
		want []wire.PID
	}{
		{100, []wire.PID{parent}},
		{pidmap.Node, nil}, // long forgotten
		{parent - 1, []wire.PID{parent}},
		{parent - 1024, []wire.PID{parent}},
		{parent - 1025, nil},
	} {
		if got := tracker.Late(c.pid, told[c.pid], 0); !slices.Equal(got, c.want) {
			t.Errorf("late for a signal to %d: %v, want %v", c.pid, got, c.want)
		}
	}
	tracker.Record(procevents.Record{Kind: procevents.Exited, PID: parent}, now)
	tracker.Flush(true, now)
	if s := tracker.Stats(); s != (procevents.Stats{Processes: 1}) {
		t.Errorf("stats %+v after the end of the last, want 1 process", s)
	}
}

// number makes one of sixteen numbers: outside, init, ten of the node, four of the front end.
func number(b byte) wire.PID {
	n := wire.PID(b % 16)
	if n >= 2 && n < 12 {
		n += pidmap.Node
	}
	return n
}

// FuzzTracker feeds records that no kernel would write. The front end must still be able to obey
// the events: none about a process without a ghost, no ghost twice, and an end of the work.
func FuzzTracker(f *testing.F) {
	f.Add([]byte{0, 1, 4, 0, 1, 5, 4, 0, 2, 4, 0, 0, 9, 0, 0, 0})
	f.Add([]byte{0, 1, 0, 0, 1, 4, 1, 1, 2, 4, 5, 1, 1, 5, 4, 5, 2, 5, 4, 5, 3, 4, 0, 0, 3, 5, 0, 0, 8, 0, 0, 0})
	f.Add([]byte("000000000000000000000000070000000000000000000000000000000000&0,0201Z9000"))                                                                                                             // a number is reused whose last owner has a child that is still to be reported
	f.Add([]byte("\x50\x81\xc6\xab\x16\x82\x7b\xa1\xdb\x14\xd7\xcc\xa0\x87\x92\x35\x00\x02\x00\x5a\x8f\x46\xa5\x5a\xb1\x1e\x78\x3e\x46\x50\x81\xc6\xab\x00\x80\x00"))                                     // a change is put off, and its process is gone before it is reported
	f.Add([]byte("P\x01\xb7\xab\x16\x92{\xa1\x00\xde\xde\xde\xde!\x96\x93T\xfe\x92Tނ\xff\xf2\x00Z\xff\x00\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xb7\xa1\xb7r\xb7\xb7\xb7\xb7\xb7")) // a number passes to a descendant of its last owner, whose ghost has ended
	f.Fuzz(func(t *testing.T, script []byte) {
		now := time.Unix(0, 0)
		tracker := procevents.NewTracker(procevents.DefaultHold, func(pid wire.PID) (procevents.Image, bool) {
			return procevents.Image{Argv: []string{"x"}}, pid%2 == 0
		})
		ghosts := map[wire.PID]bool{}
		had := map[wire.PID]bool{}   // numbers that have had one
		again := map[wire.PID]bool{} // numbers that may have passed to a descendant of a former owner
		for ; len(script) >= 4; script = script[4:] {
			now = now.Add(300 * time.Microsecond)
			a, b, c := number(2+script[1]%10), number(script[2]), number(script[3])
			launched := number(12 + script[1]%4)
			switch op := script[0] % 8; op {
			case 0:
				ghosts[launched] = true
				tracker.Launching(core.Asked(&wire.Spawn{PID: launched, PGID: b, SID: c}))
			case 1:
				again[a] = again[a] || had[a]
				tracker.Record(procevents.Record{Kind: procevents.Forked, PID: a, Parent: b, Creator: c, PGID: c, SID: number(script[3] % 5)}, now)
			case 2:
				tracker.Record(procevents.Record{Kind: procevents.Execed, PID: a, PGID: b, SID: c}, now)
			case 3:
				tracker.Record(procevents.Record{Kind: procevents.Exited, PID: a}, now)
			case 4:
				tracker.Ended(&wire.InitStatus{PID: launched})
			case 5:
				tracker.Record(procevents.Record{Kind: procevents.Stopped + procevents.Kind(script[3]&1), PID: b}, now)
			case 6:
				other := number(2 + script[2]%10)
				again[a], again[other] = again[a] || had[a], again[other] || had[other]
				tracker.BeginScan()
				tracker.Record(procevents.Record{Kind: procevents.Exited, PID: b}, now)
				tracker.Resync([]procevents.ProcessInfo{{PID: a, Parent: b, PGID: a, SID: 1}, {PID: other, Parent: c, PGID: a, SID: b, State: 'T'}})
			case 7:
				tracker.Changed(procevents.ProcessInfo{PID: a, PGID: b, SID: c})
				tracker.User(b, wire.IDs{Real: uint32(script[3] % 3)}, wire.IDs{})
				tracker.Reaper(c, script[3]&64 != 0)
				if !again[a] && slices.Contains(tracker.Late(a, uint64(script[3]), 0), a) {
					t.Fatal("a process descends from itself")
				}
			}
			for _, e := range tracker.Flush(script[0]&8 != 0, now).Events {
				if ghosts[e.PID] == (e.Kind == wire.EventForked) {
					t.Fatalf("%s: has a ghost: %v", show(e), ghosts[e.PID])
				}
				if e.Maker != 0 && !ghosts[e.Maker] {
					t.Fatalf("%s: maker has no ghost", show(e))
				}
				if e.Kind == wire.EventForked && !ghosts[e.Parent] && (e.Parent != 0 || e.Maker == 0) {
					t.Fatalf("%s: parent has no ghost", show(e))
				}
				ghosts[e.PID], had[e.PID] = e.Kind != wire.EventExited, true
			}
		}
	})
}

package procevents_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/slave/core"
	"bproc/slave/procevents"
	"bproc/wire"
)

// shown returns what the ghosts of events get as command lines and names.
func shown(events wire.Events) (all []string) {
	for _, e := range events.Events {
		if e.Comm != "" || len(e.Argv) > 0 {
			all = append(all, fmt.Sprint(e.PID, e.Kind == wire.EventExeced, e.Argv, e.Comm))
		}
	}
	return all
}

// TestSlowCommandLine: a process whose command line cannot be read in time is read again, and so is
// a child that has its ghost's.
func TestSlowCommandLine(t *testing.T) {
	const parent, child = pidmap.Node, pidmap.Node + 1
	now := time.Unix(100, 0)
	late, read := map[wire.PID]bool{}, 0
	tracker := procevents.NewTracker(procevents.DefaultHold, func(pid wire.PID) (procevents.Image, bool) {
		read++
		if late[pid] {
			return procevents.Image{Comm: "program", Slow: true}, true
		}
		return procevents.Image{Argv: []string{"program", pid.String()}}, true
	})
	tracker.Launching(core.Asked(&wire.Spawn{PID: 100}))
	tracker.Spawned(100)
	flush := func(what string, want ...string) {
		t.Helper()
		if got := shown(tracker.Flush(true, now)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	tracker.Record(procevents.Record{Kind: procevents.Forked, PID: parent, Parent: 100, Creator: 100, PGID: 90, SID: 80}, now)
	tracker.Flush(true, now)
	late[parent] = true
	tracker.Record(procevents.Record{Kind: procevents.Execed, PID: parent, PGID: 90, SID: 80}, now)
	flush("an exec")
	tracker.Record(procevents.Record{Kind: procevents.Forked, PID: child, Parent: parent, Creator: parent, PGID: 90, SID: 80}, now)
	flush("a fork")
	if at, ok := tracker.Next(); !ok || !at.Equal(now.Add(time.Second)) {
		t.Errorf("next at %v, %v, want a second later", at, ok)
	}
	now = now.Add(time.Second)
	flush("late for the second time",
		fmt.Sprint(parent, true, []string(nil), "program"), fmt.Sprint(child, true, []string{"program", child.String()}, ""))
	now = now.Add(time.Second)
	flush("late for the third time")
	delete(late, parent)
	now = now.Add(time.Second)
	flush("in time", fmt.Sprint(parent, true, []string{"program", parent.String()}, ""))
	if at, ok := tracker.Next(); ok {
		t.Errorf("something is due at %v, with nothing late", at)
	}
	before := read
	now = now.Add(time.Minute)
	flush("later")
	if read != before {
		t.Errorf("%d processes were read with nothing late", read-before)
	}
}

// TestManyAreSlow: only some of many late processes are read at a time, and those that have ended
// are forgotten.
func TestManyAreSlow(t *testing.T) {
	const many = 1000
	now := time.Unix(100, 0)
	read := map[wire.PID]int{}
	tracker := procevents.NewTracker(procevents.DefaultHold, func(pid wire.PID) (procevents.Image, bool) {
		read[pid]++
		return procevents.Image{Comm: "program", Slow: true}, true
	})
	tracker.Launching(core.Asked(&wire.Spawn{PID: 100}))
	tracker.Spawned(100)
	for i := range wire.PID(many) {
		tracker.Record(procevents.Record{Kind: procevents.Forked, PID: pidmap.Node + i, Parent: 100, Creator: 100, PGID: 90, SID: 80}, now)
		tracker.Record(procevents.Record{Kind: procevents.Execed, PID: pidmap.Node + i, PGID: 90, SID: 80}, now)
	}
	tracker.Flush(true, now)
	clear(read)
	for range 4 {
		now = now.Add(time.Second)
		before := len(read)
		tracker.Flush(true, now)
		if n := len(read) - before; n > 256 {
			t.Errorf("%d processes were read at a time", n)
		}
	}
	if len(read) != many {
		t.Errorf("%d processes were read again, want all %d", len(read), many)
	}
	for i := range wire.PID(many) {
		tracker.Record(procevents.Record{Kind: procevents.Exited, PID: pidmap.Node + i}, now)
	}
	tracker.Flush(true, now)
	now = now.Add(time.Second)
	tracker.Flush(true, now)
	if at, ok := tracker.Next(); ok {
		t.Errorf("something is due at %v, and all have ended", at)
	}
}

package journal

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"bproc/wire"
)

// TestTrim has many processes at a time, and then few: the descriptors of the many are
// given back, here and by whoever keeps them, and slots without them are used again, by
// this daemon and the next.
func TestTrim(t *testing.T) {
	const most, few = 100, 3
	kept := map[string][]*os.File{}
	j, err := Create(keepIn(kept))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		for _, files := range kept {
			closeAll(files)
		}
	}()
	var used []*Slot
	take := func(n int) {
		t.Helper()
		for len(used) < n {
			s, err := j.Take()
			if err != nil {
				t.Fatal(err)
			}
			s.Use(Facts{PID: wire.PID(1000 + s.Number())})
			used = append(used, s)
		}
	}
	trim := func(want int) {
		t.Helper()
		if err := j.Trim(); err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, s := range j.slots {
			if s.Input.mover != noMover {
				open++
			}
		}
		if moves := len(kept) - 1; open != want || moves != want { // the journal itself is kept, too
			t.Errorf("%d slots have movers, and those of %d are kept, want %d", open, moves, want)
		}
	}
	take(most)
	trim(most)
	for _, s := range used[few:] {
		s.Release()
	}
	used = used[:few]
	trim(most) // they were in use since the last time
	trim(few + spare)
	trim(few + spare)
	take(most)
	trim(most)

	for _, s := range used[few:] {
		s.Release()
	}
	trim(most)
	trim(few + spare)
	j.MakeUp(17)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	next, slots, err := Reopen(maps.Clone(kept), keepIn(kept))
	if err != nil {
		t.Fatal(err)
	}
	j, used = next, slots
	if got := j.MadeUp(); got != 17 {
		t.Errorf("the next daemon finds that %d lost records were made up for, want 17", got)
	}
	if len(slots) != few || slices.ContainsFunc(slots, func(s *Slot) bool { return s.Facts().PID != wire.PID(1000+s.Number()) }) {
		t.Errorf("the next daemon finds %d slots in use, want %d", len(slots), few)
	}
	for name := range kept { // it has taken the files over
		if name == Name || strings.HasPrefix(name, movesPrefix) {
			kept[name] = nil
		}
	}
	take(most)
	numbers := map[int]bool{}
	for _, s := range used {
		numbers[s.Number()] = true
	}
	if len(numbers) != most {
		t.Errorf("%d processes have %d slots", most, len(numbers))
	}
}

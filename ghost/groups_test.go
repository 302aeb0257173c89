package ghost

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestSignalsForGroups sends signals to a ghost, and to its group. The keeper tells them apart.
func TestSignalsForGroups(t *testing.T) {
	f := newFixture(t)
	a, b := f.ghost(t, nobody, "a"), f.ghost(t, nobody, "b")
	f.must(t, &wire.GhostJoin{PID: a, PGID: a})
	f.must(t, &wire.GhostJoin{PID: b, PGID: a})
	kill := func(to wire.PID, receivers int) (groups int) {
		t.Helper()
		if err := unix.Kill(int(to), unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		for range receivers {
			if f.nextSignal(t).Group {
				groups++
			}
		}
		return groups
	}
	for deadline := time.Now().Add(patience); kill(-a, 2) < 2; {
		if time.Now().After(deadline) {
			t.Fatal("a signal for a group is not known to be")
		}
	}
	for _, c := range []struct {
		name            string
		to              wire.PID
		receivers, want int
	}{
		{"a process", a, 1, 0}, {"the group", -a, 2, 2}, {"the other process", b, 1, 0}, {"the group again", -a, 2, 2},
	} {
		if got := kill(c.to, c.receivers); got != c.want {
			t.Errorf("%s: %d of %d signals were for the group, want %d", c.name, got, c.receivers, c.want)
		}
	}
	late := f.ghost(t, nobody, "late")
	f.must(t, &wire.GhostJoin{PID: late, PGID: a})
	if got := kill(late, 1); got != 0 {
		t.Error("the signal for one that has joined the group since is taken for the group's")
	}
}

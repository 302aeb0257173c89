package ghost

import (
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestZombie has ghosts stay zombies: they are in their groups.
func TestZombie(t *testing.T) {
	f := newFixture(t)
	parent := f.ghost(t, nobody, "parent")
	const leader, member, other wire.PID = 2200000, 2200001, 2200002
	for _, c := range []struct {
		name   string
		status wire.Status
		before func()
	}{
		{"exit", wire.ExitStatus(3), func() {}},
		{"by signal", wire.SignalStatus(int(unix.SIGTERM)), func() {}},
		{"by SIGKILL", wire.SignalStatus(int(unix.SIGKILL)), func() {}},
		{"held in its exit", wire.SignalStatus(int(unix.SIGKILL)), func() {
			if err := unix.Kill(int(leader), unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			f.signal(t, leader)
		}},
	} {
		for _, pid := range []wire.PID{leader, member, other} {
			f.must(t, &wire.GhostFork{Parent: parent, Child: pid})
		}
		f.must(t, &wire.GhostJoin{PID: leader, PGID: leader})
		c.before()
		for range 2 {
			f.must(t, &wire.GhostExit{PID: leader, Status: c.status, Zombie: true})
			if got := statField(t, leader, 0); got != "Z" {
				t.Errorf("%s: state %s, want Z", c.name, got)
			}
		}
		f.must(t, &wire.GhostJoin{PID: member, PGID: leader})
		// Others end as ever.
		f.must(t, &wire.GhostExit{PID: other})
		f.gone(t, other)

		f.must(t, &wire.GhostExit{PID: leader, Status: c.status})
		if gone := f.gone(t, leader); !gone.Asked || gone.Status != c.status {
			t.Errorf("%s: %+v, want status %#x", c.name, gone, c.status)
		}
		eventually(t, "reaped", func() bool { return statField(t, leader, 0) == "gone" })
		f.must(t, &wire.GhostExit{PID: member})
		f.gone(t, member)
	}
	f.end(t, parent, 0)
}

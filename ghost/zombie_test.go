package ghost

import (
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestZombie has ghosts stay zombies: they are still in their groups.
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
		// Others end as usual.
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

// TestLateZombie freezes a ghost that is to be a zombie while it ends. The answer waits for the
// end: its children have another parent then. (Version 2 of control groups does not freeze an
// ending process.)
func TestLateZombie(t *testing.T) { eachFreezer(t, lateZombie) }

func lateZombie(t *testing.T, z *freezer) {
	t.Helper()
	f := newFixture(t)
	parent := f.ghost(t, nobody, "parent")
	const late, child wire.PID = 2210000, 2210001
	f.must(t, &wire.GhostFork{Parent: parent, Child: late})
	f.must(t, &wire.GhostFork{Parent: late, Child: child})
	if err := unix.Kill(int(late), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.signal(t, late)
	z.add(t, late)
	z.freeze(t)
	begun := time.Now()
	f.number++
	if err := wire.Write(f.client, f.number, &wire.GhostExit{PID: late, Status: wire.SignalStatus(int(unix.SIGKILL)), Zombie: true}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	f.mu.Lock()
	answered := len(f.events) > 0
	f.mu.Unlock()
	if answered && statField(t, late, 0) != "Z" && time.Since(begun) < lateTime {
		t.Error("it is answered, and not a zombie")
	}
	z.thaw(t)
	f.take(t, "answer", func(e event) bool { _, ok := e.msg.(*wire.GhostDone); return ok })
	if got := statField(t, late, 0); got != "Z" {
		t.Errorf("state %s, want Z", got)
	}
	if got := statField(t, child, 1); got == strconv.Itoa(int(late)) {
		t.Error("its child has no other parent")
	}
	f.must(t, &wire.GhostExit{PID: child})
	f.gone(t, child)
	f.must(t, &wire.GhostExit{PID: late})
	f.gone(t, late)
	f.end(t, parent, 0)
}

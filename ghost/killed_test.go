package ghost

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestForkKilled sends ghosts SIGKILL while they make children: each child is either a ghost or
// does not exist.
func TestForkKilled(t *testing.T) {
	f := newFixture(t)
	const first, rounds wire.PID = 2300000, 250
	for child := first; child < first+rounds; child++ {
		parent := f.ghost(t, nobody, "parent")
		killed := make(chan error)
		go func() {
			until := time.Now().Add(time.Duration(child-first) % 100 * time.Microsecond)
			for time.Now().Before(until) { // no sleep is so short
			}
			killed <- unix.Kill(int(parent), unix.SIGKILL)
		}()
		errno := f.ask(t, &wire.GhostFork{Parent: parent, Child: child})
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		if sig, _ := f.signal(t, parent); sig != unix.SIGKILL {
			t.Fatalf("ghost %d got %v", parent, sig)
		}
		switch state := statField(t, child, 0); {
		case errno == 0:
			f.must(t, &wire.GhostSync{PID: child})
			f.must(t, &wire.GhostExit{PID: child})
			f.gone(t, child)
		case errno != unix.ESRCH:
			t.Fatalf("fork: %v", errno)
		case state != "gone":
			t.Fatalf("child %d was not made, and is %s", child, state)
		}
		f.end(t, parent, wire.SignalStatus(int(unix.SIGKILL)))
	}
}

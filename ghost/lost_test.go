package ghost

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestKilledFromStop has SIGKILL take a ghost from the stop in which it is to be driven: it is held
// and reported like any other.
func TestKilledFromStop(t *testing.T) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(t)
	for _, c := range []struct {
		name string
		do   func(d *driven) error
	}{
		{"call", func(d *driven) error { _, err := d.call(unix.SYS_GETPID); return err }},
		{"registers", func(d *driven) error { return s.lost(d.g, "registers of", d.saved.get(d.g.pid)) }},
		{"name", func(d *driven) error { return d.setName("x") }},
	} {
		pid := formerly(t, 0, "g")
		if err := s.adopt(&wire.GhostAdopt{PID: pid, UID: AnyUser}); err != nil {
			t.Fatal(err)
		}
		d, err := s.drive(s.ghosts[pid])
		if err != nil {
			t.Fatal(err)
		}
		d.letGo() // from here on it cannot be driven, as if it were ending
		killed := make(chan error, 1)
		thread := unix.Gettid()
		go func() { killed <- killWhenWaited(thread, pid) }()
		if err := c.do(d); !errors.Is(err, errHeld) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		if !d.g.killed {
			t.Errorf("%s: it is not held", c.name)
		}
		s.says(t, fmt.Sprintf("signal 9 to %d", pid))
		s.end(t, d.g, wire.ExitStatus(0))
		wait(t, pid, 0)
	}
}

// killWhenWaited kills a ghost as soon as its keeper's thread waits.
func killWhenWaited(thread int, pid wire.PID) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", thread))
		if err != nil {
			return err
		}
		var call int
		if n, _ := fmt.Sscan(string(text), &call); n == 1 && call == unix.SYS_WAITID {
			return unix.Kill(int(pid), unix.SIGKILL)
		}
	}
	return errors.New("the keeper's thread does not wait")
}

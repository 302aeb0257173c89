package space_test

import (
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDeadline has deadlines pass: the deadline of a daemon that is gone takes effect, and one that
// was moved on does not.
func TestDeadline(t *testing.T) {
	n := newNode(t)
	soon := func() time.Time { return time.Now().Add(100 * time.Millisecond) }
	n.mustLaunch(command(70001, "sleep", "1000"))
	for _, at := range []time.Time{soon(), time.Now().Add(time.Hour)} {
		if err := n.Deadline(at); err != nil {
			t.Fatal(err)
		}
	}
	n.mustLaunch(command(70002, "sleep", "0.3")) // longer than the first deadline
	if s := n.awaitStatus(70002, over); !s.Exited() {
		t.Errorf("status %#x before the deadline", s)
	}
	if err := n.Deadline(soon()); err != nil {
		t.Fatal(err)
	}
	if err := n.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := n.InitPID()
	n.leave()
	awaitEnd(t, before, strconv.Itoa(70001))

	n.start()
	if n.InitPID() != before {
		t.Errorf("init is %d, was %d", n.InitPID(), before)
	}
	if s := n.awaitStatus(70001, over); s.Signal() != unix.SIGKILL {
		t.Errorf("status %#x, want killed", s)
	}
	if !n.endedWithNode(70001) {
		t.Error("the next daemon is not told that all processes were killed")
	}
	n.mustLaunch(command(70003, "sleep", "0.3")) // the deadline has passed
	if s := n.awaitStatus(70003, over); !s.Exited() {
		t.Errorf("status %#x after the deadline", s)
	}
}

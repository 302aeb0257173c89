package space_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestNobodyTakesAllCalls has a user make more calls that the front end does not answer than can
// wait. Calls of others are answered.
func TestNobodyTakesAllCalls(t *testing.T) {
	n := newNode(t)
	out := openDir(t) + "/out"
	greedy := command(70001, probe, "crowd", "1100", "getpgid", nobodyCounts.String())
	greedy.UID, greedy.GID = 12345, 12345
	greedy.Command.Stdio[1] = file(out)
	n.mustLaunch(greedy)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(out); err == nil && strings.Contains(string(text), "full") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("all calls of a user may wait")
		}
	}
	for i, uid := range []uint32{12346, 0} {
		other := command(wire.PID(70002+i), probe, "call", "getpgid", frontEndPID.String())
		other.UID, other.GID = uid, uid
		if text, _ := n.output(other); text != "3999\n" {
			t.Errorf("user %d: got %q", uid, text)
		}
	}
	if err := n.Signal(70001, info(unix.SIGKILL, codeUser, 1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	n.awaitStatus(70001, over)
}

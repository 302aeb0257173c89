package space_test

import (
	"strings"
	"testing"

	"bproc/wire"
)

// TestRootWithoutCapabilities has root of different kinds signal a process elsewhere. The front end
// is told which of them may not do what root may.
func TestRootWithoutCapabilities(t *testing.T) {
	n := newNode(t)
	for i, c := range []struct {
		name string
		by   string
		uid  uint32
		want bool
	}{
		{"root", "", 0, false},
		{"root without CAP_KILL", "setpriv --bounding-set -kill", 0, true},
		{"root without another", "setpriv --bounding-set -chown", 0, false},
		{"root of a user namespace", "unshare --user --map-root-user", 0, true},
		{"a user", "", 12345, false},
	} {
		n.front.told()
		sp := command(wire.PID(70001+i), strings.Fields(c.by+" "+probe+" call kill 4000 10")...)
		sp.UID, sp.GID = c.uid, c.uid
		if text, _ := n.output(sp); text != "0\n" {
			t.Errorf("%s: got %q", c.name, text)
		}
		if told := strings.Join(n.front.told(), "; "); strings.Contains(told, "CAP_KILL") != c.want || !strings.Contains(told, "[4000 10]") {
			t.Errorf("%s: told %q, want told of it %v", c.name, told, c.want)
		}
	}
}

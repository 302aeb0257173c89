package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestTrust has root of a node access processes elsewhere and other users, with the trust that a
// node has when it joins, and with full trust.
func TestTrust(t *testing.T) {
	t.Parallel()
	const stranger, squashed = 4242, 65534
	c := cluster.Start(t, cluster.Config{Nodes: 2, Limited: true})
	const script = `trap 'echo got it' TERM; echo ready; while :; do sleep 0.1; done`
	here := startRemote(t, c, cluster.Alice, 0, "sh", "-c", script)
	there := startRemote(t, c, cluster.Alice, 1, "sh", "-c", script)
	bpsh1, err := there.bpsh.PID()
	if err != nil {
		t.Fatal(err)
	}
	kill := func(pid int, want string) {
		t.Helper()
		res := bpsh(t, c, cluster.Root, "0", "sh", "-c", fmt.Sprintf("kill -TERM %d 2>&1 && echo sent", pid))
		if !strings.Contains(res.Stdout, want) {
			t.Errorf("kill(%d) of root on a node: got %+v, want %s", pid, res, want)
		}
	}
	appears := func(uid, want int) {
		t.Helper()
		r := startRemote(t, c, cluster.Root, 0, "setpriv", fmt.Sprint("--reuid=", uid), "--clear-groups", "sh", "-c", "echo ready; exec sleep 1000")
		got, err := c.Front.Proc(r.ghost)
		if err != nil || !slices.Equal(got.UIDs, []int{want, want, want}) {
			t.Errorf("a process of %d appears as %v, %v, want %d", uid, got.UIDs, err, want)
		}
		if err := c.Front.Kill(r.ghost, unix.SIGKILL); err != nil {
			t.Error(err)
		}
		r.wait()
	}
	trust := func(want string) {
		t.Helper()
		for _, line := range strings.Split(strings.TrimSpace(ask(t, c.Front, cluster.Root, "bpstat", "-l", "0")), "\n")[1:] {
			if !strings.HasSuffix(line, " "+want) {
				t.Errorf("bpstat -l says %q, want %s", line, want)
			}
		}
	}
	trust("limited")
	kill(there.ghost, "not permitted")
	kill(bpsh1, "not permitted")
	kill(1, "not permitted")
	kill(here.ghost, "sent")
	here.expect("got it")
	appears(stranger, squashed)
	appears(int(cluster.Bob.UID), squashed)
	appears(int(cluster.Alice.UID), int(cluster.Alice.UID))

	ask(t, c.Front, cluster.Root, "bpctl", "-S", "0", "--trust", "full")
	trust("full")
	kill(there.ghost, "sent")
	there.expect("got it") // once: the earlier ones have not arrived
	appears(stranger, stranger)
	for _, r := range []*remote{here, there} {
		if err := c.Front.Kill(r.ghost, unix.SIGKILL); err != nil {
			t.Error(err)
		}
		r.wait()
	}
}

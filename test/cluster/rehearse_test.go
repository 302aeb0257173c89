package cluster_test

import (
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestTokenIsKept has a machine join on which no process space can be made. When that is corrected,
// it joins with the same token.
func TestTokenIsKept(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, NoSlaves: true})
	n := c.Nodes[0]
	token, err := c.Enroll(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, lack := range []struct{ how, says string }{
		{"umount -R /sys/fs/cgroup", "no control groups are mounted"},
		{"mount --bind /bin/false " + cluster.Prefix + "/lib/bproc/bpinit", "init"},
	} {
		ask(t, n, cluster.Root, "sh", "-c", lack.how)
		res, err := n.Exec(t.Context(), cluster.Root, "bpslave", "--join", token, "front")
		if err != nil || res.Code == 0 || !strings.Contains(res.Stderr, lack.says) || !strings.Contains(res.Stderr, "has not joined") {
			t.Errorf("after %s: code %d, %v, want that it names %q:\n%s", lack.how, res.Code, err, lack.says, res.Stderr)
		}
		if left := ask(t, n, cluster.Root, "ls", "-A", "/run/bproc"); strings.Contains(left, "rehearsal") {
			t.Errorf("after %s there is left %s", lack.how, left)
		}
		if err := n.Reboot(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.StartSlave(t.Context(), 0, "--join", token); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if left := ask(t, n, cluster.Root, "sh", "-c", "ls -A /run/bproc; cat /proc/self/mounts"); strings.Contains(left, "rehearsal") {
		t.Errorf("of the rehearsal there is left\n%s", left)
	}
}

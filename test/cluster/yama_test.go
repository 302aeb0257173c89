package cluster_test

import (
	"testing"

	"bproc/test/cluster"
)

// inYama runs a command under a simulated setting of Yama, which not every kernel has.
const inYama = `
cp -r /proc/sys/kernel /run 2>/dev/null
mkdir -p /run/kernel/yama
echo $0 >/run/kernel/yama/ptrace_scope
mount --bind /run/kernel /proc/sys/kernel && exec "$@"`

// TestTracingIsForbidden starts a front end whose keeper may not trace ghosts.
func TestTracingIsForbidden(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{NoSlaves: true})
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.KillKeeper(); err != nil {
		t.Fatal(err)
	}
	res, err := c.Front.Exec(t.Context(), cluster.Root, "unshare", "--mount", "sh", "-c", inYama, "3", "timeout", "60", "bpmaster")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, res, "bpmaster", 1, "kernel.yama.ptrace_scope is 3", "reboot")
}

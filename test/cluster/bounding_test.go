package cluster_test

import (
	"slices"
	"testing"

	"bproc/test/cluster"
)

// TestBoundingSet has root without some capabilities start processes: they lack them on a node,
// too.
func TestBoundingSet(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	for _, user := range users {
		start := []string{"setpriv", "--bounding-set", "-chown,-mknod,-net_raw", "--reuid", user.Name, "--regid", user.Name, "--clear-groups"}
		script := []string{"sh", "-c", "grep CapBnd: /proc/self/status; test $(id -u) != 0 || grep CapEff: /proc/self/status"}
		native := ask(t, c.Front, cluster.Root, slices.Concat(start, script)...)
		if got := ask(t, c.Front, cluster.Root, slices.Concat(start, []string{"bpsh", "2"}, script)...); got != native {
			t.Errorf("%s: got %q, want %q", user.Name, got, native)
		}
	}
}

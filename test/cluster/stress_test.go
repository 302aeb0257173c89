//go:build soak

package cluster_test

import (
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
)

// TestStressNG runs a torture test of the kernel's ways to make processes on a node.
func TestStressNG(t *testing.T) {
	const length, late = 10 * time.Second, 15 * time.Second
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	dir := scratch(t)
	begin := time.Now()
	res := bpsh(t, c, cluster.Alice, "0", "env", "-C", dir, "stress-ng", "--temp-path", dir,
		"--fork", "4", "--vfork", "4", "--pthread", "4", "--timeout", length.String(), "--verify", "--metrics-brief")
	out := res.Stdout + res.Stderr
	if res.Code != 0 || !strings.Contains(out, "successful run completed") || strings.Contains(out, "fail:") {
		t.Errorf("exit code %d:\n%s", res.Code, out)
	}
	if took := time.Since(begin); took > length+late {
		t.Errorf("it took %v:\n%s", took, out)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	noErrors(t, c)
}

package cluster_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// complaint matches a line in which stress-ng reports an error. Newer versions also report the
// number of failures: "failed: 0".
var complaint = regexp.MustCompile(`stress-ng: (fail|error): |unsuccessful run|failed: [1-9]`)

// TestStressNG runs a torture test of the kernel's ways to make processes and threads on a node, as
// any user would. It makes 4,096 threads. Their system calls that the node's init is asked about
// take longer with more of them (seccomp_notify_poll of the kernel), and it waits for all of them,
// so it takes longer than it was told.
func TestStressNG(t *testing.T) {
	length := soakLength(t)
	most := length + limit.Scaled(2*time.Minute)
	cluster.Watch(t, most+time.Minute)
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	// In a directory that stress-ng can write to: it needs one.
	command := fmt.Sprintf("cd %s && stress-ng --fork 4 --vfork 4 --pthread 4 --timeout %ds", scratch(t), int(length.Seconds()))
	res, err := c.Front.Exec(ctx, cluster.Alice, "bpsh", "0", "sh", "-c", command)
	if err != nil {
		t.Fatal(err)
	}
	out := res.Stdout + res.Stderr
	if ctx.Err() != nil {
		t.Fatalf("not done after %v:\n%s", most, out)
	}
	if res.Code != 0 || !strings.Contains(out, " successful run completed") || complaint.MatchString(out) {
		t.Errorf("exit code %d:\n%s", res.Code, out)
	}
	t.Log(out)
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	noErrors(t, c)
}

package cluster_test

import (
	"testing"

	"bproc/test/cluster"
)

// TestJobShellTerminal has a user's shell beside a job in a terminal, whose size changes. The service's bpjob runs the
// shell, and has the size from the user's.
func TestJobShellTerminal(t *testing.T) {
	t.Parallel()
	j := startJobs(t, 1)
	j.serve()
	j.own("sleeps", process("sleeps", "exec sleep 1000"))
	if res := j.as(cluster.Alice, "start", "-N", "0", "sleeps"); res != (cluster.Result{}) {
		t.Fatalf("got %+v", res)
	}
	s := newScreen(t, j.Cluster)
	s.line("exec setpriv --reuid 12345 --regid 12345 --clear-groups env BPJOB_ROOT=" + jobRoot + " bpjob shell sleeps")
	s.expect(`\$\s*$`)
	s.line("PS1='there>'; clear; id -u; stty size")
	s.expect(`\A12345\n24 80\nthere>$`)
	s.do("resize-window", "-x", "100", "-y", "30")
	s.line("clear; until [ \"$(stty size)\" = '30 100' ]; do sleep 0.1; done; stty size")
	s.expect(`\A30 100\nthere>$`)
	s.typ("", "C-d")
	j.as(cluster.Alice, "stop", "sleeps")
}

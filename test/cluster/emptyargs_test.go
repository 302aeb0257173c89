package cluster_test

import (
	"testing"

	"bproc/test/cluster"
)

// TestManyEmptyArguments has a user execute a program many times at once with so many empty
// arguments that they take far more memory when they are decoded than on the wire. The node stays
// connected.
func TestManyEmptyArguments(t *testing.T) {
	t.Parallel()
	const script = `my @args = ("") x 65000; my @children; pipe my $go, my $start;
for (1 .. 10) {
	my $pid = fork;
	if (!$pid) { close $start; sysread $go, my $none, 1; exec { "/bin/sh" } "sh", "-c", "sleep 0.5; exit", @args; exit 9 }
	push @children, $pid;
}
close $start; waitpid $_, 0 for @children; print "all have ended\n"`
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	if res := bpsh(t, c, cluster.Alice, "0", "perl", "-e", script); res.Stdout != "all have ended\n" {
		t.Errorf("got %+v", res)
	}
	if n := count(t, c, "front/log/bpmaster.log", "node is down"); n != 0 {
		t.Errorf("the node was down %d times", n)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	noErrors(t, c)
}

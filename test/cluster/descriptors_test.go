package cluster_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestConformDescriptors has a process of a node open descriptors of processes elsewhere, and end
// these.
func TestConformDescriptors(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	bothPlaces(t, c, func(t *testing.T, at place) []string {
		argv := []string{conform(t, "descriptors")}
		for _, f := range foreigners {
			one := startTargets(t, c, f.user, 1, at.at(f.node, conform(t, "target"))...)
			argv = append(argv, fmt.Sprintf("%s=%d", f.name, one[0].pid))
		}
		return converse(t, c, cluster.Alice, place{at.name, at.at("1")}, argv...).rest()
	})
}

// TestDescriptorWithoutSlave has a process wait for the end of a process elsewhere while daemons
// are killed.
func TestDescriptorWithoutSlave(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	elsewhere := c.Front.Command(t.Context(), cluster.Alice, "sleep", "1000")
	if err := elsewhere.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = elsewhere.Process.Kill(), elsewhere.Wait() })
	pid, err := elsewhere.PID()
	if err != nil {
		t.Fatal(err)
	}
	const program = `$| = 1; my $fd = syscall(434, int shift, 0); $fd >= 0 or die "pidfd_open: $!"; print "ready\n";
my $ended = ''; vec($ended, $fd, 1) = 1; print "ended ", scalar select($ended, undef, undef, 60), "\n"; exit 7`
	r := startRemote(t, c, cluster.Alice, 0, "perl", "-e", program, fmt.Sprint(pid))
	restarts := newRestarts(t, c)
	for range 3 {
		restarts.once()
	}
	if state, _ := r.state(); state == "" || len(r.lines) > 0 {
		t.Fatalf("it does not wait any more: state %q, %d lines", state, len(r.lines))
	}
	if err := c.Front.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.expect("ended 1")
	if code := r.wait(); code != 7 {
		t.Errorf("exit code %d, want 7; %s", code, &r.stderr)
	}
}

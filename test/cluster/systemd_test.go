package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestSystemd runs a cluster by systemd, with the units of the source tree: a job goes on through
// all operations of systemd on both sides.
func TestSystemd(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1, Systemd: true})
	stdin, feed := pipe(t)
	job := startRemoteWith(t, c, cluster.Alice, 0, stdin, "sh", "-c", "echo ready; while read line; do echo $line; done; exit 7")
	bound := tasksOf(t, c)
	if strings.HasPrefix(bound, "max") || !strings.HasSuffix(bound, "\nmax\nnot empty") {
		t.Errorf("the tasks of the space are bounded by %q, want a number, in a scope without a bound", bound)
	}
	for _, tc := range []struct {
		on   *cluster.Machine
		what []string
	}{
		{c.Nodes[0], []string{"daemon-reload"}},
		{c.Nodes[0], []string{"daemon-reexec"}},
		{c.Nodes[0], []string{"restart", "bpslave"}},
		{c.Front, []string{"daemon-reload"}},
		{c.Front, []string{"restart", "bpprocfs"}},
		{c.Front, []string{"restart", "bpmaster"}},
		{c.Nodes[0], []string{"daemon-reload"}},
	} {
		name := tc.on.Name + " " + strings.Join(tc.what, " ")
		t.Run(name, func(t *testing.T) {
			if err := tc.on.Systemctl(t.Context(), tc.what...); err != nil {
				t.Fatal(err)
			}
			if err := c.WaitUp(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintln(feed, name); err != nil {
				t.Fatal(err)
			}
			job.expect(name)
			if process, ghost := job.state(); process == "" || ghost == "" {
				t.Errorf("the process is %q and its ghost %q", process, ghost)
			}
			if got := tasksOf(t, c); got != bound {
				t.Errorf("the tasks of the space are bounded by %q, want %q as before", got, bound)
			}
			if got := ask(t, c.Front, cluster.Alice, "bpsh", "0", "id", "-un"); got != cluster.Alice.Name {
				t.Errorf("a new command says %q, want %q", got, cluster.Alice.Name)
			}
		})
	}
	feed.Close()
	if code := job.wait(); code != 7 {
		t.Errorf("the job's exit code is %d, want 7: %s", code, &job.stderr)
	}
}

// TestSystemdStops checks that stopping a node's unit leaves none of its processes, nor their
// scope, and that the unit works when it is started again.
func TestSystemdStops(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1, Systemd: true})
	job := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; sleep 1000")
	n := c.Nodes[0]
	if err := n.Systemctl(t.Context(), "stop", "bpslave"); err != nil {
		t.Fatal(err)
	}
	job.lost()
	if left := ask(t, n, cluster.Root, "systemctl", "--no-legend", "--plain", "list-units", "bproc-*.scope"); left != "" {
		t.Errorf("left: %s", left)
	}
	if err := n.Systemctl(t.Context(), "start", "bpslave"); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	ask(t, c.Front, cluster.Alice, "bpsh", "0", "true")
	if err := c.Front.Systemctl(t.Context(), "stop", "bpprocfs", "bpmaster"); err != nil {
		t.Fatal(err)
	}
	if err := c.Front.Systemctl(t.Context(), "start", "bpmaster"); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	ask(t, c.Front, cluster.Alice, "bpsh", "0", "true")
	cluster.Eventually(t, "the view has been started with the master", func() error {
		res, err := c.Front.Exec(t.Context(), cluster.Alice, "bpns", "true")
		if err == nil && res.Code != 0 {
			err = errors.New(res.Stderr)
		}
		return err
	})
}

// TestSystemdToken checks that systemd does not start a node's daemon without its configuration,
// that it does not restart one whose token is refused, and that the node joins with another token.
func TestSystemdToken(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1, Systemd: true, NoSlaves: true})
	if err := c.Front.Systemctl(t.Context(), "start", "bpmaster"); err != nil {
		t.Fatal(err)
	}
	n := c.Nodes[0]
	give := func(token string) {
		t.Helper()
		if err := n.WriteFile("/etc/bproc/token", token+"\n", 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unit := func(want string) {
		t.Helper()
		cluster.Eventually(t, "the unit has "+want, func() error {
			res, err := n.Exec(t.Context(), cluster.Root, "systemctl", "show", "bpslave", "--property=ActiveState,NRestarts,ExecMainStatus")
			if err == nil && !sameLines(res.Stdout, want) {
				err = fmt.Errorf("got %q", res.Stdout)
			}
			return err
		})
	}
	for range 2 { // without the front end's name, and without a token
		if err := n.Systemctl(t.Context(), "start", "bpslave"); err != nil {
			t.Error(err)
		}
		unit("ActiveState=inactive\nNRestarts=0\nExecMainStatus=0\n")
		if err := n.WriteFile("/etc/bproc/slave", "MASTER=front\n", 0o644); err != nil {
			t.Fatal(err)
		}
	}
	give(otherToken(t))
	if err := n.Systemctl(t.Context(), "start", "bpslave"); err == nil {
		t.Error("it starts with the token of another cluster")
	}
	unit("ActiveState=failed\nNRestarts=0\nExecMainStatus=77\n")
	token, err := c.Enroll(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	give(token)
	if err := n.Systemctl(t.Context(), "start", "bpslave"); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// sameLines compares lines in any order.
func sameLines(a, b string) bool {
	return slices.Equal(slices.Sorted(strings.Lines(a)), slices.Sorted(strings.Lines(b)))
}

// tasksOf returns the limits of tasks in the process space of node 0, of its own control group and
// of systemd's around it, and whether it has any tasks.
func tasksOf(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	return ask(t, c.Nodes[0], cluster.Root, "sh", "-ec", `
		cd $(dirname $(find /sys/fs/cgroup -path '*/bproc.slice/bproc-*.scope/pids.max'))
		cat space/pids.max pids.max
		test $(cat space/pids.current) -gt 0 && echo not empty`)
}

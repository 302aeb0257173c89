package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestShutdown shuts the services of a front end down while commands run on a node: no service
// reaches systemd's stop timeout, and nothing is left on the node.
func TestShutdown(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, Systemd: true})
	jobs := map[string]string{"plain": "sleep 1000", "stubborn": "trap '' TERM; while :; do sleep 1000; done"}
	for name, script := range jobs {
		ask(t, c.Front, cluster.Root, "systemd-run", "--quiet", "--unit="+name, "--property=RemainAfterExit=yes", "bpsh", "0", "sh", "-c", script)
	}
	cluster.Eventually(t, "both run", func() error {
		all, err := c.Nodes[0].Named("sleep")
		if err == nil && len(all) != len(jobs) {
			err = fmt.Errorf("%d do", len(all))
		}
		return err
	})
	if err := c.Front.Systemctl(t.Context(), "start", "--job-mode=replace-irreversibly", "shutdown.target"); err != nil {
		t.Fatal(err)
	}
	// A bpsh that has nothing left to wait for ends by its own SIGTERM, which systemd counts as a
	// success.
	for unit, want := range map[string]string{"plain": "exit-code success", "stubborn": "exit-code success", "bpmaster": "success", "bpprocfs": "success"} {
		if got := ask(t, c.Front, cluster.Root, "systemctl", "show", "--property=Result", "--value", unit+".service"); !slices.Contains(strings.Fields(want), got) {
			t.Errorf("%s has ended by %s, want %s", unit, got, want)
		}
	}
	cluster.Eventually(t, "nothing is left", func() error {
		all, err := c.Nodes[0].Named("sleep")
		keepers, keeperErr := c.Front.Named("bpkeeper")
		if err = errors.Join(err, keeperErr); err == nil && len(all)+len(keepers) > 0 {
			err = fmt.Errorf("there are %+v and %+v", all, keepers)
		}
		return err
	})
}

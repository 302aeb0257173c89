package cluster_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestLastMaster ends a master for good: processes end first, including those that ignore SIGTERM
// and those that are stopped, and no process is left that waits.
func TestLastMaster(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	// All get their signals in any order: with its child gone, the shell waits for its own.
	plain := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "sleep 1000 & echo ready; while :; do wait; done")
	stubborn := startRemote(t, c, cluster.Bob, 1, "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done")
	stopped := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; kill -STOP $$")
	if err := c.Master.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if err := c.Master.AwaitEnd(); err != nil {
		t.Fatal(err)
	}
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Errorf("it has ended otherwise than one that is told to: %v", err)
	}
	for _, p := range []struct {
		*remote
		code int
	}{{plain, 128 + int(unix.SIGTERM)}, {stubborn, 128 + int(unix.SIGKILL)}, {stopped, 128 + int(unix.SIGTERM)}} {
		if code := p.wait(); code != p.code {
			t.Errorf("exit code %d, want %d; %s", code, p.code, &p.stderr)
		}
		p.gone()
	}
	cluster.Eventually(t, "the keeper has ended", func() error {
		keepers, err := c.Front.Named("bpkeeper")
		if err == nil && len(keepers) > 0 {
			err = fmt.Errorf("there is %+v", keepers)
		}
		return err
	})
	wantError(t, bpsh(t, c, cluster.Alice, "0", "true"), "bpsh", 255, "no master", "no such file")
}

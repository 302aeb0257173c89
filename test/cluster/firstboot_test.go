package cluster_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// tokenFile has the token of a node at its first boot.
const tokenFile = "/run/token"

// TestFirstBoot has a node find its token in a file. Without the file it reports where a token
// belongs. The file is removed when the node has joined, even if it was put there again.
func TestFirstBoot(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, NoSlaves: true})
	res, err := c.Nodes[0].Exec(t.Context(), cluster.Root, "bpslave", "--join-file", tokenFile, "front")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, res, "bpslave", 1, "not joined", "bpctl enroll", tokenFile)
	token := ask(t, c.Front, cluster.Root, "bpctl", "enroll")
	for range 2 {
		if err := c.Nodes[0].WriteFile(tokenFile, token+"\n", 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.StartSlave(t.Context(), 0, "--join-file", tokenFile); err != nil {
			t.Fatal(err)
		}
		if err := c.WaitUp(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Nodes[0].ReadFile(tokenFile); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the token is there still: %v", err)
		}
		if err := c.Slaves[0].Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlaveRestarted ends daemons in the way of a service manager that starts the next one: their
// processes, and the clients, go on.
func TestSlaveRestarted(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	in, write := pipe(t)
	r := startRemoteWith(t, c, cluster.Alice, 0, in, "sh", "-c", "sleep 1000 & echo ready; while read line; do echo got $line; done; kill $!; exit 5")
	in.Close()
	for i := range 2 {
		if err := c.Slaves[0].Signal(unix.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if err := c.Slaves[0].AwaitEnd(); err != nil {
			t.Fatal(err)
		}
		if err := c.Slaves[0].Stop(t.Context()); err != nil {
			t.Errorf("it has ended otherwise than one that is told to: %v", err)
		}
		if process, ghost := r.state(); process == "" || ghost == "" || ghost == "Z" {
			t.Fatalf("without a daemon the process is %q, its ghost %q", process, ghost)
		}
		if _, err := fmt.Fprintln(write, i); err != nil {
			t.Fatal(err)
		}
		startSlaveAgain(t, c, 0)
		r.expect(fmt.Sprint("got ", i))
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 5 {
		t.Errorf("exit code %d, want 5; %s", code, &r.stderr)
	}
	r.gone()
}

package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/cluster/manynodes"
)

// manyNodes is the number of nodes of TestManyNodes.
const manyNodes = 300

// TestManyNodes connects many nodes, and cuts all their links at once. Before the lease has run out
// they are back, each goes on with its session, and nothing is lost: no messages sent meanwhile,
// and no process.
func TestManyNodes(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1, NoSlaves: true, MasterConfig: "lease 60\n"})
	crew, err := manynodes.Start(context.WithoutCancel(t.Context()), c, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := crew.Close(); err != nil {
			t.Error(err)
		}
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	asks := func(command, want string) {
		t.Helper()
		if got, err := crew.Ask(command); err != nil || got != want {
			t.Fatalf("%s: got %q, %v, want %q", command, got, err, want)
		}
	}
	begin := time.Now()
	must(crew.Join(t.Context(), manyNodes))
	joined := time.Now()
	asks("connect", "connected")
	t.Logf("%d nodes: joined in %v, connected in %v", manyNodes, joined.Sub(begin), time.Since(joined))
	up := fmt.Sprintf("0-%d", manyNodes-1)
	if got := ask(t, c.Front, cluster.Alice, "bpstat", "-t", "up"); strings.TrimSpace(got) != fmt.Sprint(manyNodes) {
		t.Errorf("%s nodes are up, want %d (%s)", got, manyNodes, up)
	}

	ask(t, c.Front, cluster.Root, "bpctl", "-S", up, "-m", "110", "-s", "reserved")
	if got := ask(t, c.Front, cluster.Alice, "bpstat", "-t", "reserved"); strings.TrimSpace(got) != fmt.Sprint(manyNodes) {
		t.Errorf("%s nodes have changed their state, want %d", got, manyNodes)
	}
	ask(t, c.Front, cluster.Root, "bpctl", "-S", up, "-m", "111", "-s", "up")

	const processes = 20
	var running []*cluster.Cmd
	for i := range processes {
		cmd := c.Front.Command(context.WithoutCancel(t.Context()), cluster.Alice, "bpsh", fmt.Sprint(i*manyNodes/processes), "a command")
		must(cmd.Start())
		running = append(running, cmd)
	}
	cluster.Eventually(t, "the processes run", func() error {
		if got, err := crew.Ask("count"); got != fmt.Sprint(processes, " ", 0) {
			return fmt.Errorf("%q, %v", got, err)
		}
		return nil
	})

	must(crew.Cut())
	asks("ask", "asked") // while there is no connection
	end := time.Now()
	must(crew.Heal())
	asks("hear", "heard")
	t.Logf("all are back %v after the end of the cut", time.Since(end))
	for _, says := range []string{"node is down", "connected anew", "process is killed"} {
		if n := count(t, c, "front/log/bpmaster.log", says); n > 0 {
			t.Errorf("the log says %d times %q", n, says)
		}
	}
	asks("count", fmt.Sprint(processes, " ", 0))
	for _, cmd := range running {
		must(cmd.Process.Signal(unix.SIGTERM))
		_ = cmd.Wait() // it was killed
	}
	cluster.Eventually(t, "the processes have ended", func() error {
		if got, err := crew.Ask("count"); got != fmt.Sprint(0, " ", processes) {
			return fmt.Errorf("%q, %v", got, err)
		}
		return nil
	})
}

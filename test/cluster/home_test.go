package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestKillAtHomeAsksNobody has a process signal its child while calls are not answered. The call
// must return its own result.
func TestKillAtHomeAsksNobody(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, MasterConfig: "lease 60\n"})
	dir := scratch(t)
	begin, result := filepath.Join(dir, "begin"), filepath.Join(dir, "result")
	script := fmt.Sprintf(`sleep 1000 & p=$!; echo ready; while [ ! -e %s ]; do sleep 0.01; done
kill $p && wait $p; echo $? >%s.new; mv %[2]s.new %[2]s`, begin, result)
	startRemote(t, c, cluster.Alice, 0, "dash", "-c", script)
	if err := c.Slaves[0].Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(begin, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the child is signalled", func() error {
		text, err := os.ReadFile(result)
		if err == nil && string(text) != "143\n" {
			t.Fatalf("status %q of the child, want that of SIGTERM", text)
		}
		return err
	})
	if err := c.Slaves[0].Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// TestKillIsNotInterrupted has dash, which does not restart its calls after SIGCHLD, kill many
// children one after the other: each end sends it a SIGCHLD.
func TestKillIsNotInterrupted(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	const script = `n=0; while [ $n -lt 20 ]; do
	y=; i=0; while [ $i -lt 20 ]; do sleep 1000 <&- >&- 2>&- & y="$y $!"; i=$((i+1)); done
	kill -KILL $y || exit; wait; n=$((n+1)); done; echo all are dead`
	r, err := c.Front.Exec(t.Context(), cluster.Alice, "bpsh", "0", "dash", "-c", script)
	if err != nil || r.Stdout != "all are dead\n" || r.Stderr != "" {
		t.Errorf("got %+v, %v", r, err)
	}
}

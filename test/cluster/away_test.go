package cluster_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestStartWithoutSlave starts commands while their node has no daemon: they wait for the next one.
func TestStartWithoutSlave(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP} {
		if err := c.Slaves[0].Signal(sig); err != nil {
			t.Fatal(err)
		}
		if sig == unix.SIGKILL {
			if err := c.Slaves[0].AwaitEnd(); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		cmd := c.Front.Command(t.Context(), cluster.Alice, "bpsh", "0", "echo", "here")
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "the command waits for its node", func() error { return adopted(c) })
		if sig == unix.SIGKILL {
			startSlaveAgain(t, c, 0)
		} else if err := c.Slaves[0].Signal(unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || out.String() != "here\n" {
			t.Errorf("after %v: got %v, %q", sig, err, out.String())
		}
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	noErrors(t, c)
}

// adopted returns an error if no ghost is held by the keeper.
func adopted(c *cluster.Cluster) error {
	ghosts, err := c.Front.Ghosts()
	if err != nil {
		return err
	}
	for _, g := range ghosts {
		status, err := c.Front.ReadFile(fmt.Sprintf("/proc/%d/status", g.PID))
		if err == nil && !strings.Contains(string(status), "TracerPid:\t0\n") {
			return nil
		}
	}
	return fmt.Errorf("none of %d ghosts is held", len(ghosts))
}

// TestStartsWhileSlaveIsKilled starts commands while daemons are killed: each runs once.
func TestStartsWhileSlaveIsKilled(t *testing.T) {
	t.Parallel()
	const users, rounds = 4, 8
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	dir := scratch(t)
	over := make(chan struct{})
	var done atomic.Int64
	counts := make([]int, users)
	var starting errgroup.Group
	for i := range counts {
		starting.Go(func() error {
			for {
				select {
				case <-over:
					return nil
				default:
				}
				file := filepath.Join(dir, fmt.Sprint(i, ".", counts[i]))
				res, err := c.Front.Exec(t.Context(), cluster.Alice, "bpsh", "0", "sh", "-c", "echo x >>"+file+"; echo said; exit 3")
				if err != nil || res.Code != 3 || res.Stdout != "said\n" || res.Stderr != "" {
					return fmt.Errorf("command %s: got %+v, %w", file, res, err)
				}
				counts[i]++
				done.Add(1)
			}
		})
	}
	restarts := newRestarts(t, c)
	for range rounds {
		before := done.Load()
		restarts.once()
		cluster.Eventually(t, "some commands more have run", func() error {
			if n := done.Load() - before; n < users {
				return fmt.Errorf("%d have", n)
			}
			return nil
		})
	}
	close(over)
	if err := starting.Wait(); err != nil {
		t.Error(err)
	}
	for i, n := range counts {
		for k := range n {
			if text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i, ".", k))); err != nil || string(text) != "x\n" {
				t.Errorf("command %d of %d: it wrote %q, %v, want one line", k, i, text, err)
			}
		}
	}
	t.Logf("%v commands", counts)
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	noErrors(t, c)
}

// TestSlaveLeaves ends a daemon on purpose. All users learn of it at once: those whose commands run
// there, whatever their standard descriptors are, and those who ask for the node later.
func TestSlaveLeaves(t *testing.T) {
	t.Parallel()
	const lease = 300 * time.Second // longer than any wait
	c := cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: fmt.Sprintf("lease %d\n", lease/time.Second)})
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "sleep 1000 & echo ready; exec sleep 1000")
	silent := []*cluster.Cmd{
		c.Front.Command(t.Context(), cluster.Alice, "bpsh", "-N", "1", "sleep", "1001"),
		c.Front.Command(t.Context(), cluster.Alice, "bpsh", "1", "sh", "-c", "exec >&- 2>&-; sleep 1001"),
	}
	said := make([]bytes.Buffer, len(silent))
	for i, cmd := range silent {
		cmd.Stderr = &said[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, "all run", func() error {
		if all, err := c.Nodes[1].Named("sleep"); err != nil || len(all) != 4 {
			return fmt.Errorf("%d of 4 do, %w", len(all), err)
		}
		return nil
	})
	if err := c.Slaves[1].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.lost()
	for i, cmd := range silent {
		_ = cmd.Wait() // the code has the result
		if code := cmd.ProcessState.ExitCode(); code != 255 || said[i].String() != "bpsh: node 1 is down\n" {
			t.Errorf("%v: exit code %d, %q", cmd.Args, code, &said[i])
		}
	}
	wantError(t, bpsh(t, c, cluster.Alice, "1", "true"), "bpsh", 255, "node 1 is down")
	if err := c.WaitDown(t.Context(), 1); err != nil {
		t.Error(err)
	}
	startSlaveAgain(t, c, 1)
	if err := c.WaitUp(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if res := bpsh(t, c, cluster.Alice, "1", "echo", "back"); res.Stdout != "back\n" {
		t.Errorf("after that: got %+v", res)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestSlaveKeeps ends daemons with --keep: their processes, and the clients, go on. A daemon
// without it ends them.
func TestSlaveKeeps(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, SlaveArgs: []string{"--keep"}})
	in, write := pipe(t)
	r := startRemoteWith(t, c, cluster.Alice, 0, in, "sh", "-c", "sleep 1000 & echo ready; while read line; do echo got $line; done; kill $!; exit 5")
	in.Close()
	for i := range 2 {
		if err := c.Slaves[0].Stop(t.Context()); err != nil {
			t.Fatal(err)
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
	r = startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
	if err := c.Slaves[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := c.Nodes[0].StartDaemon(t.Context(), false, "bpslave", "front")
	if err != nil {
		t.Fatal(err)
	}
	c.Slaves[0] = d
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("with the next daemon: got %+v", res)
	}
	if process, ghost := r.state(); process == "" || ghost == "" || ghost == "Z" {
		t.Errorf("with the next daemon the process is %q, its ghost %q", process, ghost)
	}
	if err := c.Slaves[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.lost()
	r.gone()
}

package cluster_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// again ends the master, by kill -9 or as an administrator does, and starts the next one.
func again(t *testing.T, c *cluster.Cluster, planned bool) {
	t.Helper()
	end := c.Master.Kill
	if planned {
		end = func() error { return c.Master.Stop(t.Context()) }
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// echoed runs a command on a node that echoes its input, and checks the output.
func echoed(ctx context.Context, c *cluster.Cluster, node int, seed byte, size int64) error {
	source := func() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{seed}), size) }
	want := sha256.New()
	if _, err := io.Copy(want, source()); err != nil {
		return err
	}
	got := sha256.New()
	var stderr bytes.Buffer
	cmd := c.Front.Command(ctx, cluster.Alice, "bpsh", fmt.Sprint(node), "sh", "-c", "cat; exit 7")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = source(), got, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || stderr.Len() > 0 {
		return fmt.Errorf("%w, %q", err, stderr.String())
	}
	if !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		return fmt.Errorf("node %d: the checksum is wrong", node)
	}
	return nil
}

// TestMasterRestartsUnderLoad ends the master again and again while commands read and write a lot,
// and others start and end.
func TestMasterRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	const nodes = 2
	c := cluster.Start(t, cluster.Config{Nodes: nodes})
	ctx, end := context.WithTimeout(t.Context(), limit.Scaled(2*time.Minute))
	defer end()
	var loads []func(n int) error
	for i := range 2 * nodes {
		loads = append(loads, func(n int) error { return echoed(ctx, c, i%nodes, byte(n), 24<<20) })
	}
	for i := range nodes {
		loads = append(loads, func(n int) error {
			text := fmt.Sprintf("%d %d\n", i, n)
			res, err := c.Front.Exec(ctx, cluster.Alice, "bpsh", fmt.Sprint(i), "sh", "-c", "sh -c 'exit 3'; echo "+strings.TrimSpace(text)+"; exit 5")
			if err != nil || res.Stdout != text || res.Stderr != "" || res.Code != 5 {
				return fmt.Errorf("got %+v, %w", res, err)
			}
			return nil
		})
	}
	endMasters(t, c, 6, time.Second, loads...)
}

// endMasters ends the master some times, with random pauses, while each load runs again and again; the argument
// of a load counts its runs from 0. The cluster has nothing else to do.
func endMasters(t *testing.T, c *cluster.Cluster, rounds int, pause time.Duration, loads ...func(n int) error) {
	t.Helper()
	over := make(chan struct{})
	var running sync.WaitGroup
	for _, load := range loads {
		running.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				if err := load(n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 0))
	for i := range rounds {
		time.Sleep(time.Duration(random.Int64N(int64(pause)))) // the load goes on
		again(t, c, i%3 == 2)
	}
	close(over)
	running.Wait()
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	noErrors(t, c)
}

// TestSignalsWhileAway sends signals while there is no master: each arrives once, in order, with
// its value.
func TestSignalsWhileAway(t *testing.T) {
	t.Parallel()
	const first, count = 34, 40 // SIGRTMIN of the C library; more signals than a group of them
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	r := startRemote(t, c, cluster.Alice, 0, cluster.Program(t, siglog))
	value := 0
	queue := func(n int) {
		for range n {
			if err := c.Front.Queue(r.ghost, first, uintptr(value)); err != nil {
				t.Fatal(err)
			}
			value++
		}
	}
	for range 3 {
		queue(count)
		if err := c.Master.Kill(); err != nil {
			t.Fatal(err)
		}
		queue(count)
		if err := c.StartMaster(t.Context()); err != nil {
			t.Fatal(err)
		}
		queue(count)
	}
	for i := range value {
		if got, want := r.line(), fmt.Sprintf("%d %d 0 %#x", first, siQueue, i); got != want && got != strings.TrimSuffix(want, "0x0")+"0" {
			t.Fatalf("signal %d: got %q, want %q", i, got, want)
		}
	}
	r.kill(unix.SIGKILL)
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestEndsWhileAway has processes end while there is no master: their clients get the status, and
// all output.
func TestEndsWhileAway(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	for _, planned := range []bool{false, true} {
		sign := filepath.Join(scratch(t), "go on")
		var running []*exec.Cmd
		var out [5]bytes.Buffer
		for code := range out {
			cmd := c.Front.Command(t.Context(), cluster.Alice, "bpsh", "0", "sh", "-c",
				fmt.Sprintf("echo begin; until [ -e '%s' ]; do sleep 0.05; done; (exit 9); echo end; exit %d", sign, code))
			cmd.Stdout = &out[code]
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running = append(running, cmd.Cmd)
		}
		cluster.Eventually(t, "all run", func() error {
			for code := range out {
				if procs, err := c.Nodes[0].Named("sh"); err != nil || len(procs) < len(out) {
					return fmt.Errorf("%d of %d, %w", len(procs), code, err)
				}
			}
			return nil
		})
		end := c.Master.Kill
		if planned {
			end = func() error { return c.Master.Stop(t.Context()) }
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(sign, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "all have ended on the node", func() error {
			if procs, err := c.Nodes[0].Named("sh"); err != nil || len(procs) > 0 {
				return fmt.Errorf("%d, %w", len(procs), err)
			}
			return nil
		})
		if err := c.StartMaster(t.Context()); err != nil {
			t.Fatal(err)
		}
		for code, cmd := range running {
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != code || out[code].String() != "begin\nend\n" {
				t.Errorf("planned %v: exit code %d, want %d; %q", planned, got, code, out[code].String())
			}
		}
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	noErrors(t, c)
}

// TestStartWhileAway starts commands while there is no master: they wait for the next one for a
// while.
func TestStartWhileAway(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	if err := c.Master.Kill(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := c.Front.Command(t.Context(), cluster.Alice, "bpsh", "0", "echo", "here")
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || out.String() != "here\n" {
		t.Errorf("got %v, %q", err, out.String())
	}
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res := bpsh(t, c, cluster.Alice, "0", "true"); res.Code != 255 || !strings.Contains(res.Stderr, "no master is running here") {
		t.Errorf("got %+v", res)
	}
}

// TestClientKilledWhileAway kills a client while there is no master: the next one hangs its process
// up, but not that of a stopped client.
func TestClientKilledWhileAway(t *testing.T) {
	t.Parallel()
	testClientKilledWhileAway(t, func(c *cluster.Cluster) error { return c.Master.Kill() })
}

// TestClientKilledWithoutSlave kills a client while its node has no daemon: the next daemon hangs
// its process up, which has another parent then.
func TestClientKilledWithoutSlave(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	const script = `trap "exit 8" HUP; echo ready; while :; do sleep 0.05; done`
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", script)
	time.Sleep(confirmed) // else the node asks again for its parent
	if err := c.Slaves[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.bpsh.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.bpsh.Wait() // killed
	startSlaveAgain(t, c, 0)
	cluster.Eventually(t, "the process is hung up", func() error {
		if process, ghost := r.state(); process != "" || ghost != "" && ghost != "Z" {
			return fmt.Errorf("the process is %q, its ghost %q", process, ghost)
		}
		return nil
	})
}

// TestClientKilledWhileAllAway does the same without a keeper.
func TestClientKilledWhileAllAway(t *testing.T) {
	t.Parallel()
	testClientKilledWhileAway(t, func(c *cluster.Cluster) error {
		return errors.Join(c.Master.Kill(), c.KillKeeper())
	})
}

func testClientKilledWhileAway(t *testing.T, leave func(*cluster.Cluster) error) {
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	const script = `trap "exit 8" HUP; echo ready; while :; do sleep 0.05; done`
	killed := startRemote(t, c, cluster.Alice, 0, "sh", "-c", script)
	stopped := startRemote(t, c, cluster.Alice, 0, "sh", "-c", script)
	if err := leave(c); err != nil {
		t.Fatal(err)
	}
	if err := killed.bpsh.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := stopped.bpsh.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_ = killed.bpsh.Wait() // killed
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the process is hung up", func() error {
		if process, ghost := killed.state(); process != "" || ghost != "" && ghost != "Z" {
			return fmt.Errorf("the process is %q, its ghost %q", process, ghost)
		}
		return nil
	})
	if process, ghost := stopped.state(); process == "" || ghost == "" || ghost == "Z" {
		t.Errorf("the process of the client that is stopped is %q, its ghost %q", process, ghost)
	}
	if err := stopped.bpsh.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	stopped.kill(unix.SIGHUP)
	if code := stopped.wait(); code != 8 {
		t.Errorf("exit code %d, want 8", code)
	}
	stopped.gone()
}

package cluster_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// restarts kills the daemon of node 0 again and again, at random moments.
type restarts struct {
	t      *testing.T
	c      *cluster.Cluster
	random *rand.Rand
}

func newRestarts(t *testing.T, c *cluster.Cluster) *restarts {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return &restarts{t: t, c: c, random: rand.New(rand.NewPCG(seed, 0))}
}

// once kills the daemon, and starts the next one a little later.
func (r *restarts) once() {
	r.t.Helper()
	time.Sleep(time.Duration(r.random.IntN(150_000)) * time.Microsecond)
	if err := r.c.Slaves[0].Kill(); err != nil {
		r.t.Fatal(err)
	}
	time.Sleep(time.Duration(r.random.IntN(50_000)) * time.Microsecond)
	if err := r.c.StartSlave(r.t.Context(), 0); err != nil {
		r.t.Fatal(err)
	}
}

// TestSlaveKilled kills the daemon of a node: its processes go on, and stay connected to their
// clients.
func TestSlaveKilled(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	in, write := pipe(t)
	r := startRemoteWith(t, c, cluster.Alice, 0, in, "sh", "-c",
		"sleep 1000 & echo ready; while read line; do echo got $line; done; kill $!; exit 5")
	in.Close()
	for i := range 3 {
		if err := c.Slaves[0].Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(write, i); err != nil {
			t.Fatal(err)
		}
		if err := c.StartSlave(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		r.expect(fmt.Sprint("got ", i))
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 5 {
		t.Errorf("exit code %d, want 5; %s", code, &r.stderr)
	}
	r.gone()
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("with the last slave: got %+v", res)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestSlaveKilledUnderLoad sends much data both ways while daemons are killed, to a client that
// reads all the time and to one that does not: the next daemon gets the bytes that wait.
func TestSlaveKilledUnderLoad(t *testing.T) {
	t.Parallel()
	const size = 128 << 20
	program := cluster.Program(t, pattern)
	for _, reader := range []string{"check", "stall"} {
		t.Run(reader, func(t *testing.T) {
			c := cluster.Start(t, cluster.Config{Nodes: 1})
			script := fmt.Sprintf("%[1]s write %[2]d | bpsh 0 cat | %[1]s %[3]s %[2]d", program, size, reader)
			cmd := c.Front.Command(t.Context(), cluster.Alice, "bash", "-o", "pipefail", "-c", script)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, "much has gone both ways", func() error {
				if n := written(t, c.Nodes[0], "cat"); n < 1<<20 {
					return fmt.Errorf("%d bytes have", n)
				}
				return nil
			})
			restarts := newRestarts(t, c)
			for range 6 {
				restarts.once()
			}
			_ = cmd.Wait() // the code has the result
			code := cmd.ProcessState.ExitCode()
			if want := fmt.Sprintf("%d bytes as written\n", size); code != 0 || out.String() != want {
				t.Errorf("exit code %d, %q and %q, want %q", code, &out, &errs, want)
			}
		})
	}
}

// TestForksWithoutSlave has a process fork while daemons are killed: the front end has each child,
// with the right parent.
func TestForksWithoutSlave(t *testing.T) {
	t.Parallel()
	const children = 100
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", fmt.Sprintf(
		"echo ready; i=0; while [ $i -lt %d ]; do sleep 1000 & echo $!; sleep 0.02; i=$((i+1)); done; wait; echo over; exit 4", children))
	restarts := newRestarts(t, c)
	var pids []int
	for len(pids) < children {
		if len(pids)%20 == 10 {
			restarts.once()
		}
		pid, err := strconv.Atoi(r.line())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
		// It was printed after the birth, so the ghost exists.
		if p, err := c.Front.Proc(pid); err != nil || p.PPID != r.ghost {
			t.Errorf("child %d: %+v, %v, want parent %d", pid, p, err, r.ghost)
		}
	}
	restarts.once()
	for _, pid := range pids {
		if err := c.Front.Kill(pid, unix.SIGTERM); err != nil {
			t.Errorf("child %d: %v", pid, err)
		}
	}
	r.expect("over")
	if code := r.wait(); code != 4 {
		t.Errorf("exit code %d, want 4; %s", code, &r.stderr)
	}
	r.gone()
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestExitsWithoutSlave has processes end while daemons are killed.
func TestExitsWithoutSlave(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	var all []*remote
	for i := range 12 {
		all = append(all, startRemote(t, c, cluster.Alice, 0, "sh", "-c", fmt.Sprintf("echo ready; sleep %d.%d; echo $$; exit %d", 1+i/10, i%10, i)))
	}
	restarts := newRestarts(t, c)
	for range 5 {
		restarts.once()
	}
	for i, r := range all {
		r.expect(strconv.Itoa(r.ghost))
		if code := r.wait(); code != i {
			t.Errorf("exit code %d, want %d; %s", code, i, &r.stderr)
		}
		r.gone()
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestCallsWithoutSlave has processes ask for their parent and signal a process elsewhere while
// daemons are killed.
func TestCallsWithoutSlave(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	const program = `$| = 1; my $p = getppid; print "ready\n";
for (1 .. 2000) { getppid == $p or die "parent"; kill(0, $p) or die "kill: $!"; select(undef, undef, undef, 0.0005) }
print "over\n"; exit 6`
	r := startRemote(t, c, cluster.Alice, 0, "perl", "-e", program)
	restarts := newRestarts(t, c)
	for range 5 {
		restarts.once()
	}
	r.expect("over")
	if code := r.wait(); code != 6 {
		t.Errorf("exit code %d, want 6; %s", code, &r.stderr)
	}
}

// TestStoppedWithoutSlave kills the daemon of a stopped process.
func TestStoppedWithoutSlave(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; kill -STOP $$; exit 7")
	isStopped := func() error {
		if process, ghost := r.state(); !stopped(process) || !stopped(ghost) {
			return fmt.Errorf("the process is %q, its ghost %q", process, ghost)
		}
		return nil
	}
	cluster.Eventually(t, "both are stopped", isStopped)
	newRestarts(t, c).once()
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "both are stopped still, or again: the keeper may have the ghost do something", isStopped)
	r.kill(unix.SIGCONT)
	if code := r.wait(); code != 7 {
		t.Errorf("exit code %d, want 7; %s", code, &r.stderr)
	}
	r.gone()
}

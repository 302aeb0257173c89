package cluster_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// flood is the number of silent connections.
const flood = 10_000

// answerTime is how long bpstat may take in any case: on an idle machine it should take a second at
// most.
var answerTime = limit.Scaled(10 * time.Second)

// answers checks that the master answers in time, and returns how long it took.
func answers(t *testing.T, c *cluster.Cluster) time.Duration {
	t.Helper()
	begin := time.Now()
	res, err := c.Front.Exec(t.Context(), cluster.Alice, "bpstat")
	took := time.Since(begin)
	if err != nil || res.Code != 0 {
		t.Errorf("bpstat: got %+v, %v", res, err)
	}
	if took > answerTime {
		t.Errorf("bpstat took %v", took)
	}
	return took
}

// restartMaster restarts the master with few descriptors.
func restartMaster(t *testing.T, c *cluster.Cluster, descriptors int) {
	t.Helper()
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := c.Front.StartDaemon(t.Context(), true, "prlimit", fmt.Sprintf("--nofile=%d:%[1]d", descriptors), "bpmaster")
	if err != nil {
		t.Fatal(err)
	}
	c.Master = d
	if err := c.WaitUp(t.Context(), c.NodeIDs()...); err != nil {
		t.Fatal(err)
	}
}

// limitedLog is the log of a daemon that was started by prlimit(1).
const limitedLog = "log/prlimit.log"

// descriptors returns the number of open descriptors of a daemon.
func descriptors(t *testing.T, d *cluster.Daemon, m *cluster.Machine) int {
	t.Helper()
	pid, err := d.PID()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := m.Path(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestConnectionsThatSayNothing floods the sockets of a master with many more connections than it
// has descriptors. They are made one after the other, as this program has not many more descriptors
// itself.
func TestConnectionsThatSayNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, network, address, says string
		from                         func(c *cluster.Cluster) *cluster.Machine
	}{
		{"clients", "unix", "/run/bproc/master.sock", "a client did not make a request", func(c *cluster.Cluster) *cluster.Machine { return c.Front }},
		{"slaves", "tcp", "10.77.0.1:2223", "connection was refused", func(c *cluster.Cluster) *cluster.Machine { return c.Nodes[0] }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cluster.Start(t, cluster.Config{Nodes: 2})
			restartMaster(t, c, 256)
			before := descriptors(t, c.Master, c.Front)
			if err := c.Slaves[1].Kill(); err != nil {
				t.Fatal(err)
			}
			var flooding errgroup.Group
			var conns []net.Conn
			flooding.Go(func() error {
				for made := 0; made < flood; {
					conn, err := tc.from(c).Dial(t.Context(), tc.network, tc.address)
					switch {
					case errors.Is(err, unix.EAGAIN): // the backlog of a unix socket is full
						time.Sleep(time.Millisecond)
					case errors.Is(err, unix.ECONNRESET): // too many wait for their turn
						made++
					case err != nil:
						return err
					default:
						conns = append(conns, conn)
						made++
					}
				}
				return nil
			})
			startSlaveAgain(t, c, 1)
			if err := c.WaitUp(t.Context(), 1); err != nil {
				t.Error(err)
			}
			slowest := time.Duration(0)
			for range 5 {
				slowest = max(slowest, answers(t, c))
			}
			if err := flooding.Wait(); err != nil {
				t.Error(err)
			}
			slowest = max(slowest, answers(t, c))
			t.Logf("among %d connections that say nothing, bpstat takes %v at most", len(conns), slowest)
			if res := bpsh(t, c, cluster.Alice, "all", "echo", "works"); res.Stdout != "works\nworks\n" {
				t.Errorf("meanwhile: got %+v", res)
			}
			for _, conn := range conns {
				conn.Close()
			}
			cluster.Eventually(t, "the descriptors are free again", func() error {
				if now := descriptors(t, c.Master, c.Front); now > before+2 { // the pool of Go's poller may have grown
					return fmt.Errorf("%d are open, before there were %d", now, before)
				}
				return nil
			})
			if n := count(t, c, "front/"+limitedLog, tc.says); n == 0 || n > 100 {
				t.Errorf("the log says %d times %q", n, tc.says)
			}
		})
	}
}

// TestMasterWithoutDescriptors starts more processes than the master has descriptors for.
func TestMasterWithoutDescriptors(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	restartMaster(t, c, 64) // 32 of them for processes, half of these for a user
	tooMany(t, c, 40, "the master has descriptors for 32 processes")
}

// TestSlaveWithoutDescriptors does the same with the descriptors of a slave.
func TestSlaveWithoutDescriptors(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	if err := c.Slaves[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := c.Nodes[0].StartDaemon(t.Context(), false, "prlimit", "--nofile=160:160", "bpslave", "front")
	if err != nil {
		t.Fatal(err)
	}
	c.Slaves[0] = d
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	tooMany(t, c, 80, "too many open files")
}

// tooMany starts more processes than possible. Those that fit run, and the others fail with a line
// that says why. Everything is as before when they have ended.
func tooMany(t *testing.T, c *cluster.Cluster, processes int, says string) {
	t.Helper()
	dir := scratch(t)
	results := make([]cluster.Result, processes)
	var all errgroup.Group
	for i := range results {
		all.Go(func() (err error) {
			results[i], err = c.Front.Exec(t.Context(), cluster.Alice, "bpsh", "0", "sh", "-c",
				fmt.Sprintf("echo x >>%s; while ! test -e %[1]s.end; do sleep 0.2; done", filepath.Join(dir, "ran")))
			if err == nil && results[i].Code != 0 {
				err = os.WriteFile(filepath.Join(dir, fmt.Sprint("failed", i)), nil, 0o600)
			}
			return err
		})
	}
	cluster.Eventually(t, "each process runs, or has failed", func() error {
		text, err := os.ReadFile(filepath.Join(dir, "ran"))
		failed, globErr := filepath.Glob(filepath.Join(dir, "failed*"))
		if n := len(text)/2 + len(failed); n < processes {
			return errors.Join(fmt.Errorf("%d run, %d have failed", len(text)/2, len(failed)), err, globErr)
		}
		return nil
	})
	t.Logf("meanwhile bpstat takes %v", answers(t, c))
	if err := os.WriteFile(filepath.Join(dir, "ran.end"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, res := range results {
		if res.Code != 0 {
			failed++
			wantError(t, res, "bpsh", 255, "node 0", says)
		}
	}
	t.Logf("%d of %d failed", failed, processes)
	if failed == 0 || failed == processes {
		t.Errorf("%d of %d processes failed, want some", failed, processes)
	}
	// The node's daemon frees what a process had when the master knows of its end, as bpsh does then.
	cluster.Eventually(t, "commands work after that", func() error {
		for range 3 {
			if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
				return fmt.Errorf("got %+v", res)
			}
		}
		return nil
	})
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestFullDisk fills the file system of the master's state. Requests that would change it fail, and
// everything else goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	const state = "/run/small"
	c := cluster.Start(t, cluster.Config{NoSlaves: true, Nodes: 1, MasterArgs: []string{"--state", state + "/master"}})
	token, err := c.Enroll(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.StartSlave(t.Context(), 0, "--join", token); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(t, c.Front, cluster.Root, "sh", "-ec", "mv "+state+" /run/kept; mkdir "+state+"; mount -t tmpfs -o size=256k,mode=0755 small "+state+"; cp -a /run/kept/. "+state)
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	// dd(1) ends with an error when there is no more room.
	ask(t, c.Front, cluster.Root, "sh", "-c", "dd if=/dev/zero of="+state+"/filler bs=1k 2>/dev/null; true")
	// The file still has room for some records.
	const enrolAll = "i=0; while [ $((i += 1)) -lt 3000 ]; do bpctl enroll --name $(printf x%0199d $i) >/dev/null || exit; done"
	res, err := c.Front.Exec(t.Context(), cluster.Root, "sh", "-c", enrolAll)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, res, "bpctl", 1, "no space left on device")
	t.Logf("meanwhile bpstat takes %v", answers(t, c))
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("meanwhile: got %+v", res)
	}
	ask(t, c.Front, cluster.Root, "rm", state+"/filler")
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "0", "-m", "0100")
	if err := c.Master.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	wantError(t, bpsh(t, c, cluster.Alice, "0", "true"), "bpsh", 255, "node 0", "ermission denied")
}

// TestStoppedClient stops a bpsh whose process writes as fast as it can.
func TestStoppedClient(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	cmd := c.Front.Command(t.Context(), cluster.Alice, "bpsh", "1", "sh", "-c", "yes; exit 3")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := cmd.PID()
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "it writes", func() error {
		if written(t, c.Nodes[1], "yes") < 1<<20 {
			return errors.New("not yet")
		}
		return nil
	})
	if err := c.Front.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	slowest := time.Duration(0)
	for range 5 {
		slowest = max(slowest, answers(t, c))
		if res := bpsh(t, c, cluster.Bob, "all", "echo", "works"); res.Stdout != strings.Repeat("works\n", 4) {
			t.Errorf("meanwhile: got %+v", res)
		}
	}
	t.Logf("meanwhile bpstat takes %v at most", slowest)
	for _, p := range childrenOf(t, c.Front, pid) {
		for _, child := range childrenOf(t, c.Front, p.PID) {
			if err := c.Front.Kill(child.PID, unix.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	if err := c.Front.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the code has the result
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
}

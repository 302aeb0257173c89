package cluster_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestEnds ends each daemon as its manual page describes. Processes that should stay do so, and
// work with the next daemon.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		end  func(t *testing.T, c *cluster.Cluster)
		lost bool // the processes end with it
		code int  // of bpsh, after SIGTERM to its process
	}{
		{"bpmaster", func(t *testing.T, c *cluster.Cluster) {
			if err := c.Master.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.StartMaster(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, false, 143},
		{"bpkeeper", func(t *testing.T, c *cluster.Cluster) {
			before, err := c.Front.Named("bpkeeper")
			if err != nil {
				t.Fatal(err)
			}
			if err := c.SignalKeeper(unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, "there is another keeper", func() error {
				now, err := c.Front.Named("bpkeeper")
				if err == nil && (len(now) == 0 || now[0].PID == before[0].PID) {
					err = fmt.Errorf("there are %d, the first of them %+v", len(now), now)
				}
				return err
			})
		}, false, 143},
		{"bpslave", func(t *testing.T, c *cluster.Cluster) {
			if err := c.Slaves[0].Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			startSlaveAgain(t, c, 0)
		}, true, 255},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cluster.Start(t, cluster.Config{Nodes: 1})
			r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
			begin := time.Now()
			tc.end(t, c)
			t.Logf("it has ended, and there is another, after %v", time.Since(begin))
			if tc.lost {
				r.lost()
			} else {
				traced(t, c, r.ghost)
				r.kill(unix.SIGTERM)
				if code := r.wait(); code != tc.code {
					t.Errorf("exit code %d and %q, want %d", code, &r.stderr, tc.code)
				}
			}
			if err := c.WaitUp(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
				t.Errorf("after that: got %+v", res)
			}
			cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
		})
	}
}

// traced waits until a ghost has a keeper.
func traced(t *testing.T, c *cluster.Cluster, ghost int) {
	t.Helper()
	cluster.Eventually(t, "a keeper holds the ghost", func() error {
		status, err := c.Front.ReadFile(fmt.Sprintf("/proc/%d/status", ghost))
		if err == nil && strings.Contains(string(status), "TracerPid:\t0\n") {
			err = errors.New("nobody traces it")
		}
		return err
	})
}

// manager is a service manager (sd_notify(3)).
type manager struct {
	t    *testing.T
	path string
	conn *net.UnixConn
}

func newManager(t *testing.T) *manager {
	t.Helper()
	path := filepath.Join(scratch(t), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &manager{t, path, conn}
}

// told returns the next notification to the manager; "" if there is none for a time.
func (m *manager) told(patience time.Duration) string {
	m.t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		m.t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := m.conn.Read(b)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(string(b[:n]))
}

func (m *manager) expect(want string) {
	m.t.Helper()
	if got := m.told(lineTimeout); got != want {
		m.t.Errorf("the manager is told %q, want %q", got, want)
	}
}

// TestServiceManager checks that daemons report that they are ready, alive and stopping.
func TestServiceManager(t *testing.T) {
	t.Parallel()
	const watchdog = 600 * time.Millisecond
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	if err := c.Slaves[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		on   *cluster.Machine
		argv []string
	}{
		{c.Front, []string{"bpmaster"}},
		{c.Nodes[0], []string{"bpslave", "front"}},
	} {
		t.Run(tc.argv[0], func(t *testing.T) {
			m := newManager(t)
			cmd := tc.on.Command(t.Context(), cluster.Root, tc.argv...)
			cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+m.path, fmt.Sprint("WATCHDOG_USEC=", watchdog.Microseconds()))
			var log strings.Builder
			cmd.Stderr = &log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if t.Failed() {
					t.Log(log.String())
				}
			})
			told := map[string]bool{}
			for ready := []string{"READY=1", "WATCHDOG=1"}; len(told) < len(ready); { // two goroutines report these
				word := m.told(lineTimeout)
				if !slices.Contains(ready, word) {
					t.Fatalf("the manager is told %q at first, want %q", word, ready)
				}
				told[word] = true
			}
			for range 3 {
				m.expect("WATCHDOG=1")
			}
			pid, err := cmd.PID()
			if err != nil {
				t.Fatal(err)
			}
			signal := func(sig unix.Signal) {
				t.Helper()
				if err := tc.on.Kill(pid, sig); err != nil {
					t.Fatal(err)
				}
			}
			signal(unix.SIGSTOP)
			cluster.Eventually(t, "it says nothing while it is stopped", func() error {
				if word := m.told(2 * watchdog); word != "" {
					return fmt.Errorf("it says %q", word)
				}
				return nil
			})
			signal(unix.SIGCONT)
			m.expect("WATCHDOG=1")
			signal(unix.SIGTERM)
			cluster.Eventually(t, "it says that it stops", func() error {
				if word := m.told(lineTimeout); word != "STOPPING=1" {
					return fmt.Errorf("it says %q", word)
				}
				return nil
			})
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

package cluster_test

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestSignalsAfterFrontEndReboot reboots the front end while a node's daemon lives on. The kernel
// starts again then: processes get numbers that others had, and the clock by which signals are
// numbered restarts. All signals must arrive.
func TestSignalsAfterFrontEndReboot(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, MasterConfig: "lease 3\n"})
	ageKeeper(t, c)
	had := map[int]bool{}
	for range 10 {
		r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "trap 'echo got' USR1; echo ready; while :; do sleep 0.1; done")
		r.kill(unix.SIGUSR1)
		r.expect("got")
		had[r.ghost] = true
	}
	if err := c.Front.Reboot(); err != nil {
		t.Fatal(err)
	}
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "nothing of the former boot is left", func() error { return idle(c) })
	r := startWithNumber(t, c, had)
	r.kill(unix.SIGUSR1)
	r.expect("got")
	r.kill(unix.SIGKILL)
	if code := r.wait(); code != 137 {
		t.Errorf("exit code %d, want 137", code)
	}
	r.gone()
	select {
	case <-c.Slaves[0].Done():
		t.Error("the node's daemon has not lived on")
	default:
	}
}

// ageKeeper replaces the keeper by one whose front end seems to have run for twelve days.
func ageKeeper(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.KillKeeper(); err != nil {
		t.Fatal(err)
	}
	lib := cluster.Prefix + "/lib/bproc/"
	if _, err := c.Front.StartDaemon(t.Context(), false, "unshare", "--time", "--boottime", "1000000", "--fork", "--kill-child",
		lib+"bpkeeper", "--socket", "/run/bproc/keeper.sock", "--ghost", lib+"ghost"); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the keeper serves", func() error {
		conn, err := c.Front.Dial(t.Context(), "unix", "/run/bproc/keeper.sock")
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// startWithNumber starts a process that has one of some numbers.
func startWithNumber(t *testing.T, c *cluster.Cluster, numbers map[int]bool) *remote {
	t.Helper()
	ahead := 8 // how many numbers are used up before the ghost's
	for range 50 {
		for want := range numbers {
			next := strconv.Itoa(want - ahead)
			r := &remote{t: t, c: c, lines: make(chan string, 1000)}
			r.start(nil, c.Front.Command(t.Context(), cluster.Root, "sh", "-c",
				"echo "+next+" >/proc/sys/kernel/ns_last_pid; exec bpsh 0 sh -c 'trap \"echo got\" USR1; echo ready; echo $$; while :; do sleep 0.1; done'"))
			number, err := strconv.Atoi(strings.TrimSpace(r.line()))
			if err != nil {
				t.Fatal(err)
			}
			r.ghost = number
			if numbers[number] {
				return r
			}
			ahead += number - want
			r.kill(unix.SIGTERM)
			r.wait()
		}
	}
	t.Fatalf("no process got one of the numbers %v", numbers)
	return nil
}

package cluster_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// endTime is how long a process may wait for a dead server, on a busy machine.
var endTime = limit.Scaled(30 * time.Second)

// TestViewIsKilledOften kills the server of a view again and again, while processes change and end,
// and programs list and read them. The server must end each time, and so must the programs.
func TestViewIsKilledOften(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	changing := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; while sleep 0.05; do :; done")
	spinning := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; while :; do :; done")
	// By force, if the test has failed: processes that still wait could not be ended.
	t.Cleanup(func() { sweepView(t, c) })
	for range 4 {
		view, err := c.Front.StartDaemon(t.Context(), true, "bpprocfs", "--keep", viewDir)
		if err != nil {
			t.Fatal(err)
		}
		var readers []*dialogue
		for _, read := range []string{"ls -l /proc", "cat /proc/[0-9]*/stat /proc/[0-9]*/task/*/status", "ls /proc/[0-9]*/fd; readlink /proc/[0-9]*/exe"} {
			d := newDialogue(t, c, cluster.Alice, "bpns", "sh")
			d.ask("echo reading; while [ -e /proc/1/stat ]; do { " + read + "; } >/dev/null 2>&1; done; echo ended")
			readers = append(readers, d)
		}
		// It is killed at any point of its work.
		cluster.Eventually(t, "the view shows a process", func() error {
			_, err := c.Front.Exec(t.Context(), cluster.Root, "bpns", "ps", "-e")
			return err
		})
		if err := view.Signal(unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, d := range readers {
			d.says("ended")
		}
		select {
		case <-view.Done():
		case <-time.After(endTime):
			t.Fatalf("the server cannot be killed within %v", endTime)
		}
	}
	for _, r := range []*remote{changing, spinning} {
		r.kill(unix.SIGKILL)
	}
}

// says waits for a line.
func (d *dialogue) says(want string) {
	d.t.Helper()
	line := make(chan string, 1)
	go func() {
		d.lines.Scan()
		line <- d.lines.Text()
	}()
	select {
	case got := <-line:
		if got != want {
			d.t.Errorf("got %q, want %q", got, want)
		}
	case <-time.After(endTime):
		d.t.Fatalf("no %q within %v", want, endTime)
	}
}

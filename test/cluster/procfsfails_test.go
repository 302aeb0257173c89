package cluster_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// dialogue is a shell that executes a line at a time.
type dialogue struct {
	t     *testing.T
	in    *os.File
	lines *bufio.Scanner
}

// newDialogue starts a shell, until the end of the test.
func newDialogue(t *testing.T, c *cluster.Cluster, user cluster.User, argv ...string) *dialogue {
	t.Helper()
	in, w := pipe(t)
	cmd := c.Front.Command(t.Context(), user, argv...)
	cmd.Stdin = in
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &dialogue{t, w, bufio.NewScanner(out)}
}

// ask executes a command, and returns the line that it prints.
func (d *dialogue) ask(command string) string {
	d.t.Helper()
	if _, err := fmt.Fprintln(d.in, command); err != nil {
		d.t.Fatal(err)
	}
	if !d.lines.Scan() {
		d.t.Fatalf("%s: no answer: %v", command, d.lines.Err())
	}
	return d.lines.Text()
}

// TestViewIsKilled kills the server of a view while ps uses it: shells that were in the view must
// then be in the next one.
func TestViewIsKilled(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	view := startView(t, c)
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; exec sleep 1001")
	shell := newDialogue(t, c, cluster.Bob, "bpns", "sh")
	look := fmt.Sprintf("grep BProcNode /proc/%d/status || echo $?", r.ghost)
	seen := func() error {
		if got := shell.ask(look); got != "BProcNode:\t1" {
			return fmt.Errorf("got %q", got)
		}
		return nil
	}
	cluster.Eventually(t, "the process is seen", seen)
	looking := newDialogue(t, c, cluster.Bob, "bpns", "sh")
	looking.ask("echo looking; while ps -e >/dev/null 2>&1; do :; done; echo it fails")
	if err := view.Kill(); err != nil {
		t.Fatal(err)
	}
	looking.says("it fails")
	if _, err := c.Front.StartDaemon(t.Context(), true, "bpprocfs", "--keep", viewDir); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "it is seen in the shell that was there before", seen)
	next, err := c.Front.Named("bpprocfs")
	if err != nil || len(next) != 1 {
		t.Fatalf("servers: %+v, %v", next, err)
	}
	if err := c.Front.Kill(next[0].PID, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the real procfs is there when the view has ended", func() error {
		if got := shell.ask(look); got != "1" {
			return fmt.Errorf("got %q", got)
		}
		return nil
	})
	r.kill(unix.SIGKILL)
}

// TestViewOfANodeThatIsCut checks that the last data of processes on a node that does not answer
// are shown, and that files that only the node has return errors.
func TestViewOfANodeThatIsCut(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	startView(t, c)
	r := startRemote(t, c, cluster.Alice, 2, "sh", "-c", "echo ready; exec sleep 1001")
	pid := strconv.Itoa(r.ghost)
	cluster.Eventually(t, "the process is seen", func() error {
		if got := inView(t, c, cluster.Alice, "sh", "-c", "grep BProcNode /proc/"+pid+"/status; cat /proc/"+pid+"/comm"); got != "BProcNode:\t2\nsleep\n" {
			return fmt.Errorf("got %q", got)
		}
		return nil
	})
	before := inView(t, c, cluster.Alice, "cat", "/proc/"+pid+"/stat")
	if err := c.Cut(2); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := inView(t, c, cluster.Alice, "cat", "/proc/"+pid+"/stat"); got != before {
			t.Errorf("stat: got %q, want %q", got, before)
		}
		if all := inView(t, c, cluster.Alice, "ps", "-e", "-o", "pid=,args="); !strings.Contains(all, pid+" sleep 1001\n") {
			t.Errorf("the process is not in\n%s", all)
		}
	}
	limits := func() error {
		res, err := c.Front.Exec(t.Context(), cluster.Alice, "bpns", "cat", "/proc/"+pid+"/limits")
		if err == nil && res.Code != 0 {
			err = errors.New(res.Stderr)
		}
		return err
	}
	cluster.Eventually(t, "what only the node knows cannot be read", func() error {
		if limits() == nil {
			return errors.New("the node answers")
		}
		return nil
	})
	if err := c.Heal(2); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the node answers again", limits)
	r.kill(unix.SIGKILL)
}

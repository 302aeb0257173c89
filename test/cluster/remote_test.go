package cluster_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/standin"
	"bproc/test/cluster"
	"bproc/test/limit"
)

// Paths of C sources.
const (
	siglog  = "testdata/siglog.c"
	pattern = "testdata/pattern.c"
	die     = "testdata/die.c"
)

// lineTimeout is how long a test waits for a line of output.
var lineTimeout = limit.Scaled(2 * time.Minute)

// remote is a command that runs on a node, with its two processes on the front end.
type remote struct {
	t     *testing.T
	c     *cluster.Cluster
	node  int
	bpsh  *cluster.Cmd
	ghost int // its PID, on both sides
	lines chan string

	stderr bytes.Buffer // may be read after wait
}

// startRemote starts bpsh for a command whose first line of output is "ready".
func startRemote(t *testing.T, c *cluster.Cluster, user cluster.User, node int, argv ...string) *remote {
	t.Helper()
	return startRemoteWith(t, c, user, node, nil, argv...)
}

// startRemoteWith is startRemote with a standard input.
func startRemoteWith(t *testing.T, c *cluster.Cluster, user cluster.User, node int, stdin io.Reader, argv ...string) *remote {
	t.Helper()
	r := &remote{t: t, c: c, node: node, lines: make(chan string, 1000)}
	r.start(stdin, c.Front.Command(t.Context(), user, append([]string{"bpsh", strconv.Itoa(node)}, argv...)...))
	pid, err := r.bpsh.PID()
	if err != nil {
		t.Fatal(err)
	}
	r.ghost = onlyChild(t, c.Front, pid)
	return r
}

// startJob is startRemote in the way of a shell with job control: bpsh has a process group of its
// own, whose parent is in the same session, so that stop signals of terminals stop it (setpgid(2)).
func startJob(t *testing.T, c *cluster.Cluster, user cluster.User, node int, argv ...string) *remote {
	t.Helper()
	r := &remote{t: t, c: c, node: node, lines: make(chan string, 1000)}
	const job = `fork or setpgrp and exec "bpsh", @ARGV; wait; exit $? >> 8`
	r.start(nil, c.Front.Command(t.Context(), user, append([]string{"perl", "-e", job, strconv.Itoa(node)}, argv...)...))
	pid, err := r.bpsh.PID()
	if err != nil {
		t.Fatal(err)
	}
	r.ghost = onlyChild(t, c.Front, onlyChild(t, c.Front, pid))
	return r
}

// onlyChild returns the only child of a process.
func onlyChild(t *testing.T, m *cluster.Machine, pid int) int {
	t.Helper()
	children := childrenOf(t, m, pid)
	if len(children) != 1 {
		t.Fatalf("%d has children %+v, want one", pid, children)
	}
	return children[0].PID
}

// start starts the command that is or contains bpsh, and waits until the process has printed
// "ready".
func (r *remote) start(stdin io.Reader, cmd *cluster.Cmd) {
	r.t.Helper()
	t := r.t
	r.bpsh = cmd
	r.bpsh.Stdin, r.bpsh.Stderr = stdin, &r.stderr
	out, err := r.bpsh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.bpsh.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.cleanUp)
	go func() {
		defer close(r.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			r.lines <- scan.Text()
		}
	}()
	r.expect("ready")
}

// pipe returns a pipe that is closed at the end of the test.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// line returns the next line of output.
func (r *remote) line() string {
	r.t.Helper()
	select {
	case line, ok := <-r.lines:
		if !ok {
			r.t.Fatalf("the output ended; exit code %d: %s", r.wait(), &r.stderr)
		}
		return line
	case <-time.After(lineTimeout):
		r.logStandstill()
		r.t.Fatal("no output")
	}
	return ""
}

// logStandstill logs where all processes of the front end and the node wait, and what bpsh does, which it ends for that.
func (r *remote) logStandstill() {
	r.t.Helper()
	for _, m := range []*cluster.Machine{r.c.Front, r.c.Nodes[r.node]} {
		res, err := m.Exec(r.t.Context(), cluster.Root, "ps", "-eo", "pid,ppid,stat,wchan:25,args")
		r.t.Logf("%s, %v:\n%s%s", m.Name, err, res.Stdout, res.Stderr)
	}
	if pid, err := r.bpsh.PID(); err == nil {
		_ = r.c.Front.Kill(pid, unix.SIGABRT) // Go's runtime says what all goroutines do
		r.t.Logf("bpsh, exit code %d:\n%s", r.wait(), &r.stderr)
	}
}

func (r *remote) expect(want string) {
	r.t.Helper()
	if got := r.line(); got != want {
		r.t.Fatalf("got line %q, want %q", got, want)
	}
}

// kill sends a signal to the ghost.
func (r *remote) kill(sig unix.Signal) {
	r.t.Helper()
	if err := r.c.Front.Kill(r.ghost, sig); err != nil {
		r.t.Fatal(err)
	}
}

// state returns the states of the remote process and of the ghost; "" means that it is gone.
func (r *remote) state() (process, ghost string) {
	r.t.Helper()
	return stateOf(r.t, r.c.Nodes[r.node].Remote, r.ghost), stateOf(r.t, r.c.Front.Proc, r.ghost)
}

func stateOf(t *testing.T, look func(pid int) (cluster.Proc, error), pid int) string {
	t.Helper()
	p, err := look(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.State
}

// gone checks that both the process and its ghost are gone, after bpsh has ended.
func (r *remote) gone() {
	r.t.Helper()
	if process, ghost := r.state(); process != "" || ghost != "" {
		r.t.Errorf("after the end of bpsh the process is %q and its ghost %q, want both gone", process, ghost)
	}
}

// cleanUp ends what a failed test has left.
func (r *remote) cleanUp() {
	if r.ghost != 0 && r.bpsh.ProcessState == nil {
		_ = r.c.Front.Kill(r.ghost, unix.SIGKILL)
	}
	_ = r.bpsh.Process.Kill()
	_ = r.bpsh.Wait()
}

// lost waits for the end of bpsh after the node was lost: its status is that of ssh with a broken
// connection, and it names the node.
func (r *remote) lost() {
	r.t.Helper()
	code := r.wait()
	if want := fmt.Sprintf("node %d", r.node); code != 255 || !strings.Contains(r.stderr.String(), want) {
		r.t.Errorf("exit code %d and %q, want 255 and a line that names %s", code, &r.stderr, want)
	}
}

// wait waits for bpsh and returns its exit code.
func (r *remote) wait() int {
	r.t.Helper()
	timeout := time.After(quietTimeout)
	for more := true; more; { // Wait closes the pipe
		select {
		case _, more = <-r.lines:
		case <-timeout:
			r.t.Fatalf("the output of bpsh does not end within %v", quietTimeout)
		}
	}
	awaitEnd(r.t, r.bpsh)
	return r.bpsh.ProcessState.ExitCode()
}

// awaitEnd waits for a command that has closed its output. It ignores the status.
func awaitEnd(t *testing.T, cmd *cluster.Cmd) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(quietTimeout):
		t.Fatalf("%v has closed its output and does not end within %v", cmd.Args, quietTimeout)
	}
}

func childrenOf(t *testing.T, m *cluster.Machine, parent int) []cluster.Proc {
	t.Helper()
	all, err := m.Procs()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p cluster.Proc) bool { return p.PPID != parent })
}

// stopped reports whether a state of /proc means stopped; a ghost's tracer changes T to t.
func stopped(state string) bool { return state == "T" || state == "t" }

// bpsh runs bpsh as a user of the front end.
func bpsh(t *testing.T, c *cluster.Cluster, user cluster.User, args ...string) cluster.Result {
	t.Helper()
	res, err := c.Front.Exec(t.Context(), user, append([]string{"bpsh"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// users are the users for whom everything must work alike.
var users = []cluster.User{cluster.Root, cluster.Alice}

// idle returns an error if there are remote processes or ghosts.
func idle(c *cluster.Cluster) error {
	var left []string
	for _, n := range c.Nodes {
		procs, err := n.Procs()
		if err != nil {
			return err
		}
		for _, p := range procs {
			if p.Space > 1 && p.Comm != standin.Name {
				left = append(left, fmt.Sprintf("%s: %d %s", n.Name, p.Space, strings.Join(p.Args, " ")))
			}
		}
	}
	ghosts, err := c.Front.Ghosts()
	if err != nil {
		return err
	}
	for _, g := range ghosts {
		left = append(left, fmt.Sprintf("ghost: %d %s", g.PID, strings.Join(g.Args, " ")))
	}
	if n := len(left); n > 0 {
		return fmt.Errorf("%d left: %v", n, left[:min(n, 20)])
	}
	return nil
}

// wantIdle checks at the end of a test that none of its processes runs any more.
func wantIdle(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	t.Cleanup(func() {
		cluster.Eventually(t, "nothing of the test runs any more", func() error { return idle(c) })
	})
}

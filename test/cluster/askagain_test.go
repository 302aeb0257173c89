package cluster_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/wire"
)

// askerVariable makes this binary a client that asks for the same process repeatedly: its arguments
// are a file of node 0 for standard input, and a command.
const askerVariable = "BPROCTEST_ASKER"

// asker keeps all of its connections open. The master must close each when the client asks over the
// next one; the last one has the process.
func asker(args []string) error {
	ghost, err := syscall.ForkExec(cluster.Prefix+"/lib/bproc/ghost", args[1:], &syscall.ProcAttr{Dir: "/"})
	if err != nil {
		return err
	}
	run := &wire.Run{
		Version: wire.Version, Ghost: wire.PID(ghost), Launch: 4711,
		Command: wire.Command{Argv: args[1:], Env: []string{"PATH=" + os.Getenv("PATH"), "LONG=" + strings.Repeat("x", 100<<10)}, Dir: "/"},
	}
	run.Command.Stdio[0] = wire.Descriptor{Mode: wire.DescriptorFile, Path: args[0]}
	run.Command.Stdio[1].Mode = wire.DescriptorStream
	var last *net.UnixConn
	for range 100 {
		conn, err := askMaster(run)
		if err != nil {
			return err
		}
		if last != nil {
			if err := errors.Join(last.SetReadDeadline(time.Now().Add(lineTimeout)), awaitEOF(last)); err != nil {
				return fmt.Errorf("a former connection: %w", err)
			}
		}
		last, run.Again = conn, true
	}
	fmt.Println("ready")
	if err := hearOutput(last); err != nil {
		return err
	}
	var status unix.WaitStatus
	_, err = unix.Wait4(ghost, &status, 0, nil)
	return err
}

// awaitEOF skips earlier messages: a request that arrives after the one that repeats it is refused.
func awaitEOF(conn *net.UnixConn) error {
	_, err := io.Copy(io.Discard, conn)
	return err
}

// TestAskAgain has a client ask for one process many times while the start waits for a file. The
// master must keep only what belongs to the last request.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	ask(t, c.Nodes[0], cluster.Root, "mkfifo", "/run/pipe")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before := openFiles(t, c)
	r := &remote{t: t, c: c, lines: make(chan string, 1000)}
	cmd := c.Front.Command(t.Context(), cluster.Root, self, "/run/pipe", "cat")
	cmd.Env = append(cmd.Env, askerVariable+"=1")
	r.start(nil, cmd)
	if after := openFiles(t, c); after > before+10 {
		t.Errorf("the master has %d descriptors, and had %d before", after, before)
	}
	ask(t, c.Nodes[0], cluster.Root, "sh", "-c", "echo said >/run/pipe")
	r.expect("said")
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, &r.stderr)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestSpaceEndsDuringStart ends the daemon of a node, with all processes, and kills the master while
// a command is being started. It may have run, so it is not started again.
func TestSpaceEndsDuringStart(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	ask(t, c.Nodes[0], cluster.Root, "mkfifo", "/run/pipe")
	cmd := c.Front.Command(t.Context(), cluster.Root, "bpsh", "-I", "/run/pipe", "0", "echo", "runs")
	ended := make(chan struct{})
	var res cluster.Result
	var err error
	go func() {
		res, err = cmd.Result()
		close(ended)
	}()
	cluster.Eventually(t, "the start waits for the pipe", func() error {
		found, err := c.Nodes[0].Named("bproc-init")
		if err == nil && len(found) < 2 {
			err = fmt.Errorf("%d processes of init", len(found))
		}
		return err
	})
	if err := c.Master.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Slaves[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.StartMaster(t.Context()), c.StartSlave(t.Context(), 0)); err != nil {
		t.Fatal(err)
	}
	if <-ended; err != nil || res.Code != 255 || res.Stdout != "" {
		t.Errorf("got %+v, %v, want exit code 255", res, err)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestUselessJournal kills the daemon of a node and spoils what it has left. The next one ends the
// space with all processes, and goes on with a new one.
func TestUselessJournal(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
	found, err := c.Nodes[0].Named("bproc-init")
	if err != nil || len(found) != 1 {
		t.Fatalf("%d processes of init, %v", len(found), err)
	}
	dir, err := c.Nodes[0].Path(fmt.Sprintf("/proc/%d/fd", found[0].PID))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Slaves[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := spoil(dir, "/memfd:bproc-slave (deleted)"); err != nil {
		t.Fatal(err)
	}
	startSlaveAgain(t, c, 0)
	r.lost()
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("in the new space: got %+v", res)
	}
	if err := logged(c, "n0/log/bpslave.log", "the process space was ended with all processes, and is made anew"); err != nil {
		t.Error(err)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// spoil overwrites the beginning of a process's file, whose name is that of the link in its directory of
// descriptors.
func spoil(dir, name string) error {
	fds, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, fd := range fds {
		if link, err := os.Readlink(dir + "/" + fd.Name()); err == nil && link == name {
			return os.WriteFile(dir+"/"+fd.Name(), []byte("of no use"), 0)
		}
	}
	return fmt.Errorf("%s has no %s", dir, name)
}

// openFiles returns the number of the master's descriptors.
func openFiles(t *testing.T, c *cluster.Cluster) int {
	t.Helper()
	pid, err := c.Master.PID()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := c.Front.Path(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

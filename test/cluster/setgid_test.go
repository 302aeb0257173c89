package cluster_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/test/cluster"
	"bproc/wire"
)

// lenderVariable makes this binary a process of a node that connects to the daemon, gives the
// connection to a child, and executes a set-group-ID program, its argument. The child then asks for
// a process.
const lenderVariable = "BPROCTEST_LENDER"

func lender(args []string) error {
	if args[0] == "child" {
		return borrower()
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: client.NodeSocket, Net: "unix"})
	if err != nil {
		return err
	}
	file, err := conn.File()
	if err != nil {
		return err
	}
	child := exec.Command("/proc/self/exe", "child")
	child.Stdout, child.Stderr, child.ExtraFiles = os.Stdout, os.Stderr, []*os.File{file}
	if err := child.Start(); err != nil {
		return err
	}
	return unix.Exec(args[0], []string{"sleep", "1000"}, os.Environ())
}

// borrower asks over its parent's connection when the parent has another group, prints the answer, and
// ends the parent.
func borrower() error {
	parent := os.Getppid()
	defer func() { _ = unix.Kill(parent, unix.SIGKILL) }() // it ends with the test, too
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", parent))
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(string(status), "\nGid:")
		if ids := strings.Fields(rest); len(ids) > 1 && ids[0] != ids[1] {
			break
		}
		if time.Since(begin) > lineTimeout {
			return errors.New("the group of the parent does not change")
		}
	}
	conn := os.NewFile(3, "connection")
	run := &wire.Run{Version: wire.Version, Launch: 4711, Command: wire.Command{Argv: []string{"id", "-g"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/"}}
	run.Command.Stdio[1].Mode = wire.DescriptorStream
	if err := wire.Write(conn, 0, run); err != nil {
		return err
	}
	reader := wire.NewReader(conn)
	for {
		h, payload, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Type {
		case wire.TypeStdout:
			fmt.Printf("runs as %s\n", payload)
			return nil
		case wire.TypeFailed:
			m, err := wire.Decode(h, payload)
			if err != nil {
				return err
			}
			fmt.Println("failed:", unix.Errno(m.(*wire.Failed).Errno))
			return nil
		default:
		}
	}
}

// TestSetGroupIDProgram has a user's process connect to its node's daemon, leave the connection to
// another process and execute a set-group-ID program. The other process gets nothing of the program's
// group.
func TestSetGroupIDProgram(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	dir := scratch(t)
	self, program := filepath.Join(dir, "lender"), filepath.Join(dir, "setgid")
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ask(t, c.Nodes[0], cluster.Root, "sh", "-c", fmt.Sprintf("cp %s %s && chmod 755 %[2]s && cp /bin/sleep %s && chgrp 4242 %[3]s && chmod 2755 %[3]s", executable, self, program))
	res := bpsh(t, c, cluster.Alice, "0", "env", lenderVariable+"=1", self, program)
	if want := "failed: no such process\n"; res.Stdout != want || res.Stderr != "" {
		t.Errorf("got %+v, want %q", res, want)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

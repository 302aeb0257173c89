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
// connection to a child, and executes a set-user-ID or set-group-ID program, its first argument. The child then asks for
// a process, with the second argument "begun" only for the rest of what the process has begun to say as its own user.
const lenderVariable = "BPROCTEST_LENDER"

func lender(args []string) error {
	if args[0] == "child" {
		return borrower(args[1] == "begun")
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: client.NodeSocket, Net: "unix"})
	if err != nil {
		return err
	}
	file, err := conn.File()
	if err != nil {
		return err
	}
	if args[1] == "begun" {
		if err := begin(conn, file); err != nil {
			return err
		}
	}
	child := exec.Command("/proc/self/exe", "child", args[1])
	child.Stdout, child.Stderr, child.ExtraFiles = os.Stdout, os.Stderr, []*os.File{file}
	if err := child.Start(); err != nil {
		return err
	}
	return unix.Exec(args[0], []string{"sleep", "1000"}, os.Environ())
}

// borrowed returns the request.
func borrowed() ([]byte, error) {
	run := &wire.Run{Version: wire.Version, Launch: 4711, Command: wire.Command{Argv: []string{"id", "-g"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/"}}
	run.Command.Stdio[1].Mode = wire.DescriptorStream
	return wire.Append(nil, 0, run)
}

// begin says the header of the request, and waits until the daemon has read that, and has looked who says it.
func begin(conn *net.UnixConn, file *os.File) error {
	frame, err := borrowed()
	if err != nil {
		return err
	}
	if _, err := conn.Write(frame[:wire.HeaderSize]); err != nil {
		return err
	}
	for unread := 1; unread > 0; time.Sleep(settleTime) {
		if unread, err = unix.IoctlGetInt(int(file.Fd()), unix.TIOCOUTQ); err != nil {
			return err
		}
	}
	return nil
}

// settleTime is more than the daemon or the front end takes to follow. Where it is not, the attack fails.
const settleTime = 300 * time.Millisecond

// borrower asks over its parent's connection when the parent has another user or group, prints the answer, and
// ends the parent.
func borrower(begun bool) error {
	parent := os.Getppid()
	defer func() { _ = unix.Kill(parent, unix.SIGKILL) }() // it ends with the test, too
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", parent))
		if err != nil {
			return err
		}
		if several(string(status), "\nUid:") || several(string(status), "\nGid:") {
			break
		}
		if time.Since(begin) > lineTimeout {
			return errors.New("the user and group of the parent do not change")
		}
	}
	conn := os.NewFile(3, "connection")
	frame, err := borrowed()
	if err != nil {
		return err
	}
	if begun {
		frame = frame[wire.HeaderSize:]
		time.Sleep(settleTime)
	}
	if _, err := conn.Write(frame); err != nil {
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

// several reports whether the real and effective numbers differ in a line of proc_pid_status(5).
func several(status, line string) bool {
	_, rest, _ := strings.Cut(status, line)
	ids := strings.Fields(rest)
	return len(ids) > 1 && ids[0] != ids[1]
}

// TestProgramsLendNothing has a user's process connect to its node's daemon, leave the connection to
// another process and execute a set-user-ID or set-group-ID program. The other process gets nothing of the program's
// user or group.
func TestProgramsLendNothing(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	dir := scratch(t)
	self := filepath.Join(dir, "lender")
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ask(t, c.Nodes[0], cluster.Root, "sh", "-c", fmt.Sprintf("cp %s %s && chmod 755 %[2]s", executable, self))
	for name, set := range map[string]string{
		"setgid": "chgrp 4242 %[1]s && chmod 2755 %[1]s",
		"setuid": "chmod 4755 %[1]s",
	} {
		program := filepath.Join(dir, name)
		ask(t, c.Nodes[0], cluster.Root, "sh", "-c", fmt.Sprintf("cp /bin/sleep %[1]s && "+set, program))
		for when, want := range map[string]string{
			"whole": "failed: no such process\n",
			"begun": "failed: operation not permitted\n",
		} {
			res := bpsh(t, c, cluster.Alice, "0", "env", lenderVariable+"=1", self, program, when)
			if res.Stdout != want || res.Stderr != "" {
				t.Errorf("%s, %s: got %+v, want %q", name, when, res, want)
			}
		}
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

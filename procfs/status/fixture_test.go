package status_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/procfs/status"
	"bproc/procfs/status/marks"
	"bproc/test/limit"
	"bproc/wire"
)

// space is a PID namespace with its own procfs, whose init is a shell.
type space struct {
	tb    testing.TB
	in    io.Writer
	out   *bufio.Scanner
	proc  *os.File
	inode uint64
}

func newSpace(tb testing.TB) *space {
	tb.Helper()
	init := exec.Command("sh", "-c", "mount --make-rprivate / && mount -t proc proc /proc && echo ready && exec sh")
	init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	init.Stderr = os.Stderr
	in, err := init.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := init.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := init.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = init.Process.Kill()
		_ = init.Wait() // killed
	})
	s := &space{tb: tb, in: in, out: bufio.NewScanner(out)}
	if got := s.line(); got != "ready" {
		tb.Fatalf("init says %q", got)
	}
	host := fmt.Sprintf("/proc/%d", init.Process.Pid)
	var ns unix.Stat_t
	if err := unix.Stat(host+"/ns/pid", &ns); err != nil {
		tb.Fatal(err)
	}
	s.inode = ns.Ino
	if s.proc, err = os.Open(host + "/root/proc"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.proc.Close() })
	return s
}

func (s *space) line() string {
	s.tb.Helper()
	if !s.out.Scan() {
		s.tb.Fatalf("init has ended: %v", s.out.Err())
	}
	return s.out.Text()
}

// run has init execute a line that prints one line, and returns that.
func (s *space) run(line string) string {
	s.tb.Helper()
	if _, err := fmt.Fprintln(s.in, line); err != nil {
		s.tb.Fatal(err)
	}
	return s.line()
}

// start starts a command in the background and returns its number in the space.
func (s *space) start(command string) wire.PID {
	s.tb.Helper()
	pid, err := strconv.Atoi(s.run(command + " & echo $!"))
	if err != nil {
		s.tb.Fatal(err)
	}
	return wire.PID(pid)
}

// collector returns a Collector of the space.
func (s *space) collector() *status.Collector {
	s.tb.Helper()
	marker, err := marks.New(s.inode)
	if err != nil {
		s.tb.Fatalf("the kernel does not take the BPF program: %v", err)
	}
	c := status.New(status.Config{
		Proc: s.proc, Marker: marker, Log: slog.New(slog.DiscardHandler), Inner: true,
		Parent: func(wire.PID) wire.PID { return 0 },
	})
	s.tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			s.tb.Error(err)
		}
	})
	return c
}

// news returns everything that a View tells, as one message.
func news(tb testing.TB, c *status.Collector, v *status.View) (all wire.Changed) {
	tb.Helper()
	c.Forget()
	err := v.Refresh(false, func(m *wire.Changed) error {
		if _, err := wire.Append(nil, 1, m); err != nil {
			tb.Errorf("what is told is no message: %v", err)
		}
		all.Procs = append(all.Procs, m.Procs...)
		all.Ended = append(all.Ended, m.Ended...)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// until refreshes a View until it tells something.
func until(tb testing.TB, c *status.Collector, v *status.View, what string, is func(wire.Changed) bool) {
	tb.Helper()
	for deadline := time.Now().Add(limit.Scaled(20 * time.Second)); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if is(news(tb, c, v)) {
			return
		}
	}
	tb.Fatalf("%s: not told", what)
}

// texts returns a predicate for the texts of a process.
func texts(pid wire.PID, is func(t *wire.Texts) bool) func(wire.Changed) bool {
	return func(m wire.Changed) bool {
		for i := range m.Procs {
			if m.Procs[i].PID == pid {
				return is(&m.Procs[i])
			}
		}
		return false
	}
}

// has returns a predicate for a part of the text of status.
func has(line string) func(t *wire.Texts) bool {
	return func(t *wire.Texts) bool { return strings.Contains(string(t.Status), line) }
}

// eventually waits until a condition holds.
func eventually(tb testing.TB, condition func() error) {
	tb.Helper()
	for deadline := time.Now().Add(limit.Scaled(20 * time.Second)); ; time.Sleep(5 * time.Millisecond) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
	}
}

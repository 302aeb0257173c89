package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
)

// User is an account on every machine.
type User struct {
	Name string
	UID  uint32
	GID  uint32
}

// The accounts that commands run under.
var (
	Root  = User{Name: "root"}
	Alice = User{Name: "alice", UID: 12345, GID: 12345}
	Bob   = User{Name: "bob", UID: 12346, GID: 12346}
)

// commandPath is PATH in a machine.
var commandPath = []string{Prefix + "/bin", Prefix + "/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// outputDelay is how long Wait reads output that other processes hold open after the command has
// ended.
const outputDelay = 5 * time.Second

// raceVariable names the environment variable with the options of the race detector. Commands in
// machines get it, too.
const raceVariable = "GORACE"

// Cmd is a command in a machine: an [exec.Cmd] that starts there, in a session of its own. Its
// process numbers are the host's; [Cmd.PID] returns the machine's.
type Cmd struct {
	*exec.Cmd

	machine *Machine
	run     *run
	wait    sync.Once
	err     error
}

func newCmd(ctx context.Context, m *Machine, user User, argv []string) *Cmd {
	// A name with a slash: the machine's PATH is searched at the start, not the host's now.
	c := &Cmd{Cmd: exec.CommandContext(ctx, "./"+argv[0], argv[1:]...), machine: m}
	c.Args = argv
	c.Dir = "/"
	c.WaitDelay = outputDelay
	c.Env = []string{
		"PATH=" + strings.Join(commandPath, ":"), "HOME=/tmp", "SHELL=/bin/sh",
		"USER=" + user.Name, "LOGNAME=" + user.Name, "LANG=C.UTF-8", "TERM=dumb",
	}
	if options, ok := os.LookupEnv(raceVariable); ok && Race {
		c.Env = append(c.Env, raceVariable+"="+options)
	}
	// A session of its own: a command that makes no group of its own and signals its group must not
	// reach the tests.
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if user != Root {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	return c
}

// Start starts the command in the machine.
func (c *Cmd) Start() error {
	r, err := c.machine.current()
	if err != nil {
		return err
	}
	if err := c.startIn(r); err != nil {
		return fmt.Errorf("%s: start %s: %w", c.machine.Name, c.Args[0], err)
	}
	return nil
}

func (c *Cmd) startIn(r *run) error {
	report, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	c.run = r
	if err := errors.Join(r.do(func() error { return c.enter(theirs) }), theirs.Close()); err != nil {
		return err
	}
	if !r.track(c) {
		return errors.Join(ErrOff, c.Wait())
	}
	// From here on it must be executed, as after exec.Cmd.Start.
	if err := report.SetReadDeadline(time.Now().Add(limit.Scaled(callTimeout))); err != nil {
		return err
	}
	if err := entered(report); err != nil {
		_ = c.Process.Kill() // it may have ended, as wanted
		_ = c.Wait()         // the error is known
		return err
	}
	return nil
}

// lookPath finds a command in the namespace of the calling thread.
func lookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range commandPath {
		path := filepath.Join(dir, name)
		if unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", os.ErrNotExist
}

// Wait waits for the command; a second call returns the same.
func (c *Cmd) Wait() error {
	c.wait.Do(func() {
		c.err = c.Cmd.Wait()
		c.run.forget(c)
	})
	return c.err
}

// Run starts the command and waits for it.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns its standard output.
func (c *Cmd) Output() ([]byte, error) {
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run()
	return out.Bytes(), err
}

// PID returns the command's process number in its machine.
func (c *Cmd) PID() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	if err != nil {
		return 0, err
	}
	pids := statusInts(string(status), "NSpid:")
	if len(pids) < 2 {
		return 0, fmt.Errorf("process %d: no number in a PID namespace", c.Process.Pid)
	}
	// The first number is the host's, the second the machine's, at any depth in a machine. If the
	// host's own namespace is a child of others, those are not listed in its /proc.
	return pids[1], nil
}

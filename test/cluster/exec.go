package cluster

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Result is the outcome of a command.
type Result struct {
	Stdout string
	Stderr string
	Code   int         // exit code; 128+n if a signal ended it
	Signal unix.Signal // the signal that ended it, or 0
}

// Exec runs a command in the machine and returns its output and status. The error is nil if the
// command ran, whatever its exit code.
func (m *Machine) Exec(ctx context.Context, user User, argv ...string) (Result, error) {
	return m.Command(ctx, user, argv...).Result()
}

// Result runs the command and returns its output and status. The error is nil if the command ran,
// whatever its exit code.
func (c *Cmd) Result() (Result, error) {
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{}, err
	}
	res := Result{Stdout: stdout.String(), Stderr: stderr.String()}
	res.Code = c.ProcessState.ExitCode()
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		res.Signal = status.Signal()
		res.Code = 128 + int(res.Signal)
	}
	return res, nil
}

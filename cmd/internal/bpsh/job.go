package bpsh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
)

// job is a command on one node.
type job struct {
	task
	cmd    *client.Cmd
	outlet *outlet
	tap    *tap          // its copy of standard input; nil: none
	done   chan struct{} // closed when the command has ended or could not start

	// When done:
	code     int           // exit code
	status   client.Status // of the process, if err is nil
	err      error         // why it did not start, or its output was lost
	began    time.Time     // its start, for which it may have waited
	timedOut bool
	left     bool // to itself: what becomes of it is not known
}

// redirect sets up the standard outputs, and the files on the node.
func (j *job) redirect(o *options) {
	if !o.noIO {
		j.cmd.Stdout, j.cmd.Stderr = j.outlet.stdout, j.outlet.stderr
	}
	j.cmd.StdoutFile, j.cmd.StderrFile = o.stdout, o.stderr
	if !o.noInput {
		j.cmd.StdinFile = o.stdin
	}
}

// onTerminal gives the command a terminal like the user's.
func (j *job) onTerminal(t *terminal.Terminal) {
	j.cmd.Terminal, j.cmd.Stderr = t.Wanted(), nil
}

// endInput ends the copy of standard input of a job that no longer reads it.
func (j *job) endInput() {
	if j.tap != nil {
		j.tap.InputEnded()
	}
}

// name prefixes an error with the node unless the error names it.
func (j *job) name(err error) error {
	var e *client.Error
	if errors.As(err, &e) && e.Node == j.cmd.Node {
		return err
	}
	return fmt.Errorf("node %d: %w", j.cmd.Node, err)
}

// tell records an error of a command, and prints it unless it is part of a result.
func (s *session) tell(j *job, err error) {
	j.err = err
	if !s.json {
		s.shell.Say(err)
	}
}

// Exit codes of a shell.
const (
	codeNotFound    = 127
	codeNotExecuted = 126
	codeSignal      = 128
)

// failed reports why a command did not start, and returns the exit code for it.
func (s *session) failed(j *job, err error) int {
	j.err = err
	var sig signalError
	switch {
	case errors.As(err, &sig):
		return codeSignal + int(sig)
	case errors.Is(err, errTimedOut):
		return s.timedOut(j)
	case errors.Is(err, context.Canceled), errors.Is(err, errOther):
		return codeFailed
	}
	s.tell(j, err)
	var e *client.Error
	switch {
	case s.agent:
		return codeFailed
	case !errors.As(err, &e) || e.Stage != client.StageExec:
		return codeFailed
	case e.Errno == unix.ENOENT:
		return codeNotFound
	}
	return codeNotExecuted
}

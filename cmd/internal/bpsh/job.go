package bpsh

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
)

// job is the command on one node.
type job struct {
	cmd    *client.Cmd
	outlet *outlet
	tap    *tap          // its copy of standard input; nil: it has none
	done   chan struct{} // closed when it has ended or could not start
	code   int           // exit code, when done
}

// redirect sets up the standard outputs, and files of the node.
func (j *job) redirect(o *options) {
	if o.noIO {
		return
	}
	j.cmd.Stdout, j.cmd.Stderr = j.outlet.stdout, j.outlet.stderr
	j.cmd.StdoutFile, j.cmd.StderrFile = o.stdout, o.stderr
	if !o.noInput {
		j.cmd.StdinFile = o.stdin
	}
}

// onTerminal gives the command a terminal like this one.
func (j *job) onTerminal(t *terminal.Terminal) {
	j.cmd.Terminal, j.cmd.Stderr = t.Wanted(), nil
}

// rankVariable returns the variable that tells a process its place in the node
// set. It has a fixed width, as the original overwrites it in place.
func rankVariable(rank int) string { return fmt.Sprintf("BPROC_RANK=%07d", rank) }

// name puts the node before an error that does not name it.
func (j *job) name(err error) error {
	var e *client.Error
	if errors.As(err, &e) && e.Node == j.cmd.Node {
		return err
	}
	return fmt.Errorf("node %d: %w", j.cmd.Node, err)
}

// Exit codes of a shell.
const (
	codeNotFound    = 127
	codeNotExecuted = 126
	codeSignal      = 128
)

// failed says why a command did not start, and returns the exit code for that.
func (s *session) failed(err error) int {
	var sig signalError
	if errors.As(err, &sig) {
		return codeSignal + int(sig)
	}
	if errors.Is(err, context.Canceled) {
		return codeFailed
	}
	s.shell.Say(err)
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

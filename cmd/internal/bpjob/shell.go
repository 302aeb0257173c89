package bpjob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpsh"
	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
)

// running returns the record of a running process.
func running(p place.Process) (place.Record, error) {
	r, err := p.Read()
	if err == nil && (r.PID == 0 || r.State != life.Running && r.State != life.Stopping) {
		err = errors.New("process is not running or could not be found")
	}
	return r, err
}

func (c *Command) shellCommand() *cobra.Command {
	cmd, _ := forJob("shell [-p process] job", "Open a shell beside a process of a job", c.asRoot(c.shell))
	return cmd
}

// shell opens a shell beside a process, with a terminal if standard input is one.
func (c *Command) shell(ctx context.Context, sel selection) error {
	ch, err := c.choose(ctx, sel)
	if err != nil {
		return err
	}
	r, err := running(ch.place)
	if err != nil {
		return err
	}
	s, err := ch.spec()
	if err != nil {
		return err
	}
	s.Action, s.PID, s.Path = spec.Shell, r.PID, "/bin/bash"
	if term := os.Getenv("TERM"); term != "" {
		s.Env = append(s.Env, "TERM="+term)
	}
	env, err := s.Encode()
	if err != nil {
		return err
	}
	jailer, _, err := programs()
	if err != nil {
		return err
	}
	sh := &bpsh.Shell{Name: c.name(), Client: new(client.Client), Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr}
	cmd := sh.Client.Command(r.Node, "bash")
	cmd.Path, cmd.Env, cmd.Dir = jailer, []string{env}, "/"
	if terminal.Of(c.Stdin) != nil {
		cmd.Terminal = new(client.Terminal)
	}
	if code := sh.RunAgent(ctx, &bpsh.Agent{Cmd: cmd, Input: true, Escape: terminal.NoEscape}); code != 0 {
		return exitError(code)
	}
	return nil
}

func (c *Command) traceCommand() *cobra.Command {
	cmd, _ := forJob("trace [-p process] job", "Trace the system calls of a process of a job", c.trace)
	return cmd
}

// trace runs strace(1) on the node, until SIGINT or SIGTERM, or until nobody reads its output.
func (c *Command) trace(ctx context.Context, s selection) error {
	p, err := at(s)
	if err != nil {
		return err
	}
	r, err := running(p)
	if err != nil {
		return err
	}
	cmd := new(client.Client).Command(r.Node, "strace", "-s", "100", "-f", "-y", "-yy", "-p", r.PID.String())
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.HangUp = c.Stdout, c.Stderr, "/", true
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGPIPE) // its reader may have enough
	defer signal.Stop(signals)
	if err := cmd.Start(ctx); err != nil {
		return err
	}
	said := make(chan error, 1)
	go func() { said <- cmd.WaitOutput() }()
	asked := false
	select {
	case err = <-said:
		asked = err != nil
	case <-signals:
		asked = true
	}
	return c.leave(cmd, asked)
}

// traceDelay is how long a strace that is asked to end has for that. One that lets go of a process in
// vfork(2) may wait for it forever, and the process for strace.
const traceDelay = 2 * time.Second

// leave waits for the end of a strace, and makes sure of it if it is asked to end.
func (c *Command) leave(cmd *client.Cmd, asked bool) error {
	type end struct {
		status client.Status
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		status, err := cmd.Wait()
		ended <- end{status, err}
	}()
	if asked {
		_ = cmd.Signal(unix.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(traceDelay):
			_ = cmd.Signal(unix.SIGKILL)
			<-ended
		}
		return nil
	}
	e := <-ended
	if e.err == nil && e.status.ExitCode() != 0 {
		return errReported // strace has printed the reason
	}
	return e.err
}

// until runs a command to its end, or until a signal asks this program to end.
func (c *Command) until(cmd *exec.Cmd) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-signals:
		_ = cmd.Process.Signal(unix.SIGTERM) // the command may have ended
		<-done                               //nolint:errcheck // it was asked to end
		return nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return errReported // the command has printed the reason
	}
	return err
}

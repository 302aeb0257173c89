package bpjob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

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

// trace runs strace(1) on the node, until SIGINT or SIGTERM.
func (c *Command) trace(_ context.Context, s selection) error {
	p, err := at(s)
	if err != nil {
		return err
	}
	r, err := running(p)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(exe), "bpsh"), "-n", r.Node.String(),
		"strace", "-s", "100", "-f", "-y", "-yy", "-p", r.PID.String())
	cmd.Stdout, cmd.Stderr, cmd.Dir = c.Stdout, c.Stderr, "/"
	return c.until(cmd)
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

// Demo is a first look at bproc. It starts a front end and three nodes in namespaces on this
// machine, shows their features, and leaves a shell on the front end. Everything ends with the
// shell.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/cluster/demo/tour"
)

// prompt is the prompt of the shell, and of the lines shown before.
const prompt = "front# "

func main() {
	// Ctrl-C ends the demonstration. The terminal passes between this program and the shell, which
	// must not stop this program.
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	signal.Ignore(unix.SIGTTOU)
	err := run(ctx)
	stop()
	if err := errors.Join(err, cluster.Finish()); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	begin := time.Now()
	fmt.Printf("Starting a front end and %d nodes, in namespaces on this machine ...", tour.Nodes)
	c, err := cluster.New(ctx, cluster.Config{Nodes: tour.Nodes})
	if err != nil {
		fmt.Println()
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if _, err := c.Front.StartDaemon(ctx, true, "bpprocfs", "--keep", "/run/bproc/proc"); err != nil {
		return err
	}
	fmt.Printf(" %.1f s\n", time.Since(begin).Seconds())
	for _, step := range tour.Steps {
		fmt.Printf("\n# %s\n%s%s\n", step.Say, prompt, step.Do)
		shown, err := step.Take(func(line string, out *os.File) error {
			cmd := c.Front.Command(ctx, cluster.Root, "bash", "-c", line)
			cmd.Stdout, cmd.Stderr = out, out
			return cmd.Run()
		})
		fmt.Print(shown)
		if err != nil {
			return err
		}
	}
	if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return nil
	}
	fmt.Print("\n# Your turn: a shell on the front end. \"exit\" ends it, and the cluster.\n")
	return shell(ctx, c.Front)
}

// shell leaves the terminal to a shell on the front end until the shell ends.
func shell(ctx context.Context, m *cluster.Machine) error {
	cmd := m.Command(ctx, cluster.Root, "bash", "--norc", "-i")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(cmd.Env, "PS1="+prompt, "TERM="+os.Getenv("TERM"))
	cmd.WaitDelay = 0
	cmd.SysProcAttr.Setsid = false
	cmd.SysProcAttr.Foreground = true
	cmd.SysProcAttr.Ctty = int(os.Stdin.Fd())
	err := cmd.Run()
	// The shell has left the terminal to its own, dead group.
	if err := unix.IoctlSetPointerInt(int(os.Stdin.Fd()), unix.TIOCSPGRP, syscall.Getpgrp()); err != nil {
		return fmt.Errorf("take the terminal back: %w", err)
	}
	// Its status is that of the last command, which is of no interest here.
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil
	}
	return err
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

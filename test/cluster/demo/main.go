// Demo is a first look at bproc: it starts a front end and three nodes in
// namespaces on this machine, shows what they can do, and leaves a shell on the
// front end. When the shell ends, so does everything else.
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
)

// nodes is how many the demonstration has.
const nodes = 3

// prompt is that of the shell, and of what is shown before.
const prompt = "front# "

// steps are commands of the front end's shell, and what to say about them.
var steps = []struct{ say, do string }{
	{"The nodes of this cluster.", `bpstat`},
	{"A command on all of them.", `bpsh -a -p hostname`},
	{
		"A remote process has a number of the front end. Its exit status arrives.",
		`bpsh 2 sh -c 'echo "I am $$ on $(hostname)"; exit 7'; echo "exit status $?"`,
	},
	{
		"Its children have numbers, too. This is plain ps, on the front end.",
		`bpsh 0-1 sh -c 'sleep 100 & wait' & sleep 0.3; ps -C bpsh,sh,sleep --forest -o pid,ppid,stat,args`,
	},
	{
		"In bpns, /proc shows what is on the nodes, as it was at most a second ago.",
		`sleep 1; bpns ps -C sleep -o pid,ppid,stat,rss,time,args; bpns grep BProcNode $(pgrep -x sleep | sed 's,.*,/proc/&/status,')`,
	},
	{
		"Kill one here, and it is gone there: every signal is forwarded.",
		`pkill -x sleep; wait; bpsh -a -p sh -c 'pgrep -x sleep || echo no sleep here'`,
	},
}

func main() {
	// Ctrl-C ends what is being shown; the terminal goes back and forth between
	// this program and the shell, which must not stop it.
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
	fmt.Printf("Starting a front end and %d nodes, in namespaces on this machine ...", nodes)
	c, err := cluster.New(ctx, cluster.Config{Nodes: nodes})
	if err != nil {
		fmt.Println()
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if _, err := c.Front.StartDaemon(ctx, true, "bpprocfs", "--keep", "/run/bproc/proc"); err != nil {
		return err
	}
	fmt.Printf(" %.1f s\n", time.Since(begin).Seconds())
	for _, step := range steps {
		fmt.Printf("\n# %s\n%s%s\n", step.say, prompt, step.do)
		if err := show(ctx, c.Front, step.do); err != nil {
			return err
		}
	}
	if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return nil
	}
	fmt.Print("\n# Your turn: a shell on the front end. \"exit\" ends it, and the cluster.\n")
	return shell(ctx, c.Front)
}

// show runs a line of shell on the front end.
func show(ctx context.Context, m *cluster.Machine, line string) error {
	cmd := m.Command(ctx, cluster.Root, "bash", "-c", line)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

// shell leaves the terminal to a shell on the front end until it ends.
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
	// Its status is that of the last command, which is not ours to judge.
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil
	}
	return err
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

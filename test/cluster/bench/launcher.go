package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc"
	"bproc/test/cluster"
)

// launcherArg makes this program a client of the cluster, on its front end.
const launcherArg = "launcher"

func launcherArgv(args ...string) ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return append([]string{exe, launcherArg}, args...), nil
}

// library is the client library, for a program that is not installed.
var library = bproc.Client{GhostPath: cluster.Prefix + "/lib/bproc/ghost"}

// launcher runs the measurement named in args, and prints a number.
func launcher(ctx context.Context, args []string) error {
	numbers := make([]int, len(args))
	for i, a := range args[1:] {
		n, err := strconv.Atoi(a)
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	switch args[0] {
	case "native":
		return rates(numbers[0], numbers[1], func(int) error { return exec.Command("true").Run() })
	case "remote":
		return rates(numbers[0], numbers[1], func(i int) error { return library.Command(node(i), "true").Run(ctx) })
	case "kill-native":
		return kills(numbers[0], func(int) (victim, error) { return nativeVictim() })
	case "kill-remote":
		return kills(numbers[0], func(i int) (victim, error) { return remoteVictim(ctx, i) })
	case "idle":
		return idle(ctx, numbers[0])
	}
	return fmt.Errorf("unknown work %q", args[0])
}

func node(i int) bproc.NodeID { return bproc.NodeID(i % defaultNodes) }

// rates prints how many of count commands end per second, inflight at a time.
func rates(inflight, count int, run func(i int) error) error {
	var next atomic.Int64
	var all errgroup.Group
	begin := time.Now()
	for range inflight {
		all.Go(func() error {
			for i := next.Add(1); i <= int64(count); i = next.Add(1) {
				if err := run(int(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	fmt.Println(float64(count) / time.Since(begin).Seconds())
	return nil
}

// victim is a process that sleeps.
type victim struct {
	pid  int
	wait func() error
}

func nativeVictim() (victim, error) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		return victim{}, err
	}
	return victim{cmd.Process.Pid, cmd.Wait}, nil
}

func remoteVictim(ctx context.Context, i int) (victim, error) {
	cmd := library.Command(node(i), "sleep", "1000")
	if err := cmd.Start(ctx); err != nil {
		return victim{}, err
	}
	return victim{int(cmd.PID), cmd.Wait}, nil
}

// kills prints the median time to kill and wait for a process, in milliseconds.
func kills(count int, start func(i int) (victim, error)) error {
	var times []float64
	for i := range count {
		v, err := start(i)
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := unix.Kill(v.pid, unix.SIGKILL); err != nil {
			return err
		}
		if v.wait() == nil {
			return errors.New("a process that was killed has ended well")
		}
		times = append(times, time.Since(begin).Seconds()*1000)
	}
	fmt.Println(median(times))
	return nil
}

// idle holds count remote processes. It prints a line before it starts them, and another one when
// they run. After each it waits for a line of input.
func idle(ctx context.Context, count int) error {
	orders := bufio.NewScanner(os.Stdin)
	fmt.Println("here")
	orders.Scan()
	var cmds []*bproc.Cmd
	for i := range count {
		cmd := library.Command(node(i), "sleep", "100000")
		if err := cmd.Start(ctx); err != nil {
			return err
		}
		cmds = append(cmds, cmd)
	}
	fmt.Println("started")
	for orders.Scan() { // until the end of standard input
	}
	for _, cmd := range cmds {
		if err := unix.Kill(int(cmd.PID), unix.SIGKILL); err != nil {
			return err
		}
	}
	for _, cmd := range cmds {
		_ = cmd.Wait() // it was killed
	}
	return nil
}

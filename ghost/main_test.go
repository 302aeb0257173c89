package ghost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/ghost/groupkill/load"
	"bproc/test/limit"
)

// TestMain runs the tests in a PID namespace of their own: they choose process numbers, and no
// process is left when they end in any way.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "--to-fd" {
		os.Exit(groups(os.Args[2]))
	}
	if socket := os.Getenv("GHOST_TEST_KEEPER"); socket != "" {
		os.Exit(keeper(socket))
	}
	if name := os.Getenv("GHOST_TEST_STRANGE"); name != "" {
		os.Exit(strange[name]())
	}
	if os.Getpid() != 1 {
		os.Exit(outside())
	}
	os.Exit(inside(m))
}

// groups is bpgroups.
func groups(to string) int {
	fd, err := strconv.Atoi(to)
	if err != nil {
		return 2
	}
	w, err := load.Load()
	if err == nil {
		err = errors.Join(w.Send(fd), w.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func outside() int {
	dir, err := os.MkdirTemp("", "ghost")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GHOST_TEST_DIR="+dir)
	cmd.SysProcAttr = &unix.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL,
		Setpgid: true, // not orphaned, however the tests are run: SIGTSTP stops a ghost
	}
	if err := limit.Run(cmd, os.Stderr); err != nil {
		if cmd.ProcessState == nil {
			fmt.Fprintf(os.Stderr, "ghost: the tests need root: %v\n", err)
			return 1
		}
		return max(1, cmd.ProcessState.ExitCode())
	}
	return 0
}

func inside(m *testing.M) int {
	for _, mount := range []func() error{
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Mount("proc", "/proc", "proc", 0, "") },
		func() error { _, err := raiseMax(); return err },
	} {
		if err := mount(); err != nil {
			fmt.Fprintf(os.Stderr, "ghost: set up the namespace of the tests: %v\n", err)
			return 1
		}
	}
	return limit.Tests(m)
}

// keeper runs a keeper in its own process: the parent of a ghost cannot also be its tracer, and see
// its end twice.
func keeper(socket string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	k, err := New(Config{Socket: socket, Image: os.Getenv("GHOST_TEST_IMAGE"), Groups: "/proc/self/exe", Shards: 2}, log)
	if err == nil {
		if os.Getenv("GHOST_TEST_EXECVE") != "" { // as on a kernel without PR_SET_MM_MAP
			for _, s := range k.shards {
				s.remaps = false
			}
		}
		err = k.Run(ctx)
	}
	if dir := os.Getenv("GHOST_TEST_LINGERS"); dir != "" {
		linger(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

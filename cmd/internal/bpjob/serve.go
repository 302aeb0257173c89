package bpjob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bproc/internal/job/door"
	"bproc/internal/job/place"
	"bproc/internal/service"
)

// forUsers are the commands that the service executes for ordinary users.
var forUsers = []string{"start", "stop", "restart", "run", "shell"}

// serveCommand is the service: it starts jobs when their nodes come up, and carries out commands of
// ordinary users.
func (c *Command) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "serve", Args: nothing,
		Short: "Start jobs as nodes come up, and those of users other than root",
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.serve(cmd.Context()) },
	}
}

func (c *Command) serve(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("only root can serve jobs")
	}
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM, unix.SIGINT)
	defer stop()
	root, err := place.Root()
	if err != nil {
		return err
	}
	l, err := door.Listen(door.Socket)
	if err != nil {
		return err
	}
	running := context.WithoutCancel(ctx) // the server ends users' commands itself
	s := &door.Server{Command: func(uid uint32, r door.Request) (*exec.Cmd, error) { return forUser(running, root, uid, r) }}
	service.Ready()
	auto := make(chan struct{})
	go func() { c.startAll(ctx, root); close(auto) }()
	err = s.Serve(ctx, l)
	stop()
	select {
	case <-auto:
	case <-time.After(endDelay): // starts that are under way go on by themselves
	}
	return err
}

// endDelay is how long the service waits at its end for starts that are under way.
const endDelay = 5 * time.Second

// forUser returns the command for a user's request.
func forUser(ctx context.Context, root string, uid uint32, r door.Request) (*exec.Cmd, error) {
	switch {
	case len(r.Args) == 0 || !slices.Contains(forUsers, r.Args[0]):
		return nil, errors.New("there is no such command for ordinary users")
	case r.Root != root:
		return nil, fmt.Errorf("jobs of ordinary users are below %s, not below %s", root, r.Root)
	}
	cmd, err := as(ctx, uid, r.Args...)
	if err == nil {
		cmd.Env = append(cmd.Env, "TERM="+r.Term)
	}
	return cmd, err
}

// as returns a bpjob command that acts with the rights of a user.
func as(ctx context.Context, uid uint32, args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Dir, cmd.Env = "/", append(os.Environ(), callerVariable+"="+strconv.FormatUint(uint64(uid), 10))
	return cmd, nil
}

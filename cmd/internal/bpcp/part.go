package bpcp

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/agent"
)

// takePart is the agent of a node: its standard input and output are the session's.
func takePart(ctx context.Context) error {
	// The session may go at any time; what is not whole is removed then.
	signal.Ignore(unix.SIGPIPE)
	ctx, caught := catch(ctx)
	defer caught.stop()
	in, out := pollable(os.Stdin), pollable(os.Stdout)
	// Readers and writers are not waited for when the copy is given up.
	stop := context.AfterFunc(ctx, func() {
		in.Close()
		out.Close()
	})
	defer stop()
	err := (&agent.Agent{In: in, Out: out}).Run(ctx)
	caught.dieOf(ctx)
	return err
}

// pollable returns a standard descriptor as a file that can be closed while it is waited for.
func pollable(f *os.File) *os.File {
	fd := f.Fd()
	if err := unix.SetNonblock(int(fd), true); err != nil {
		return f
	}
	return os.NewFile(fd, f.Name())
}

package bpcp

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/agent"
)

// takePart runs the agent of a node. Its standard input and output lead to the transfer.
func takePart(ctx context.Context) error {
	// The transfer may end at any time; incomplete files are removed then.
	signal.Ignore(unix.SIGPIPE)
	ctx, caught := catch(ctx)
	defer caught.stop()
	in, out := pollable(os.Stdin), pollable(os.Stdout)
	// Closing the files ends reads and writes when the copy is given up.
	stop := context.AfterFunc(ctx, func() {
		in.Close()
		out.Close()
	})
	defer stop()
	err := (&agent.Agent{In: in, Out: out}).Run(ctx)
	caught.dieOf(ctx)
	return err
}

// pollable returns a standard descriptor as a file whose Close interrupts a pending Read or Write.
func pollable(f *os.File) *os.File {
	fd := f.Fd()
	if err := unix.SetNonblock(int(fd), true); err != nil {
		return f
	}
	return os.NewFile(fd, f.Name())
}

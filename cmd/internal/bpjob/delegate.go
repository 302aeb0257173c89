package bpjob

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"bproc/internal/job/door"
	"bproc/internal/job/place"
)

// delegate makes the service carry out the command line.
func (c *Command) delegate() error {
	root, err := place.Root()
	if err != nil {
		return err
	}
	in, ok := c.Stdin.(*os.File)
	out, ok2 := c.Stdout.(*os.File)
	bad, ok3 := c.Stderr.(*os.File)
	if !ok || !ok2 || !ok3 {
		return errors.New("standard input, output and error must be files")
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGWINCH)
	if !signal.Ignored(unix.SIGHUP) { // nohup(1)
		signal.Notify(signals, unix.SIGHUP)
	}
	defer signal.Stop(signals)
	request := door.Request{Args: c.args, Root: root, Term: os.Getenv("TERM")}
	code, err := door.Ask(door.Socket, request, [3]*os.File{in, out, bad}, signals)
	if err == nil && code != 0 {
		return exitError(code)
	}
	return err
}

package bpjob

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"

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
	stdio, wait, err := piped([3]*os.File{in, out, bad})
	if err != nil {
		return err
	}
	code, err := door.Ask(door.Socket, request, stdio, signals)
	wait()
	if err == nil && code != 0 {
		return exitError(code)
	}
	return err
}

// piped puts pipes in place of standard descriptors that are unix sockets, as those of the journal are:
// the service refuses them. wait waits until all outputs are copied.
func piped(stdio [3]*os.File) (with [3]*os.File, wait func(), err error) {
	with = stdio
	var ends []*os.File // that the service gets
	var outputs sync.WaitGroup
	wait = func() {
		for _, f := range ends {
			f.Close()
		}
		outputs.Wait()
	}
	for i, f := range stdio {
		switch {
		case !door.IsUnixSocket(f):
			continue
		case i == 2 && isSame(f, stdio[1]): // both stay in order
			with[2] = with[1]
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			wait()
			return stdio, nil, err
		}
		if i == 0 {
			with[0] = r
			go transfer(w, f, w) // not waited for: its writer may never end
		} else {
			with[i] = w
			signal.Ignore(unix.SIGPIPE) // the command decides what the end of its reader means
			outputs.Go(func() { transfer(f, r, r) })
		}
		ends = append(ends, with[i])
	}
	return with, wait, nil
}

// transfer copies until one side has ended, and closes the pipe, so that the other side learns of it.
func transfer(to, from, pipe *os.File) {
	_, _ = io.Copy(to, from)
	pipe.Close()
}

func isSame(f, g *os.File) bool {
	a, err := f.Stat()
	b, err2 := g.Stat()
	return err == nil && err2 == nil && os.SameFile(a, b)
}

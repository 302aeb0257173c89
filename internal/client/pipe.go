package client

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// InputPipe is standard input that the caller writes while the process runs.
type InputPipe struct{ *io.PipeReader }

// InputEnded makes writes fail.
func (p InputPipe) InputEnded() { _ = p.CloseWithError(unix.EPIPE) }

// endInput tells standard input that nothing reads it any more: the process has ended, or has
// closed it.
func endInput(stdin io.Reader) {
	if i, ok := stdin.(interface{ InputEnded() }); ok {
		i.InputEnded()
	}
}

// OutputPipe is an output that the caller reads while the process runs. It is a pipe of the
// kernel, which has room for some output: a caller that reads one output after the other
// does not make the process wait for ever.
type OutputPipe struct {
	Reader  *os.File
	writer  *os.File
	discard atomic.Bool // what nobody reads
}

// NewOutputPipe returns a pipe that is to be Stdout or Stderr of one command.
func NewOutputPipe() (*OutputPipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &OutputPipe{Reader: r, writer: w}, nil
}

// errUnread is the error of a write to a pipe whose reader has been closed.
var errUnread = errors.New("nobody reads the output")

// Write implements [io.Writer].
func (p *OutputPipe) Write(b []byte) (int, error) {
	n, err := p.writer.Write(b)
	switch {
	case !errors.Is(err, unix.EPIPE):
		return n, err
	case p.discard.Load():
		return len(b), nil
	}
	return n, errUnread
}

// end lets the reader see the end of the output.
func (p *OutputPipe) end() { _ = p.writer.Close() }

// Close closes both ends.
func (p *OutputPipe) Close() error { return errors.Join(p.writer.Close(), p.Reader.Close()) }

// pipes returns the outputs of c that are pipes. One that is both outputs is there twice.
func (c *Cmd) pipes() []*OutputPipe {
	var pipes []*OutputPipe
	for _, w := range []io.Writer{c.Stdout, c.Stderr} {
		if p, ok := w.(*OutputPipe); ok {
			pipes = append(pipes, p)
		}
	}
	return pipes
}

// closeReaders closes the readers of pipes after the end of the process. If another output
// is still to be copied, what comes for the pipes is discarded; otherwise it fails.
func closeReaders(pipes []*OutputPipe, others bool) {
	for _, p := range pipes {
		p.discard.Store(others)
		_ = p.Reader.Close()
	}
}

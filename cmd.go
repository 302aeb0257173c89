package bproc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"bproc/internal/client"
)

// Cmd is a command for a node, to be used once. [Client.Command] makes one.
type Cmd struct {
	Node NodeID   // FrontEnd: the process is an ordinary child
	Args []string // Args[0] is looked up in PATH of Env, on the node
	Env  []string // NAME=VALUE; nil: the environment of this program
	Dir  string   // working directory, which the node must have; empty: that of this program, or "/"

	// Standard input and outputs; nil: the null device. Input is sent ahead of the process, up to
	// 512 KB. Wait does not wait for the end of input: after Wait nothing is read from a file that
	// blocks, such as os.Stdin; with another reader, the Read that is under way takes what it gets,
	// and is the last. If Stdout and Stderr are the same writer, one goroutine at a time calls
	// Write. When Write fails, Wait returns the error.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// Files of the node that are opened instead. Output files are created or truncated.
	StdinFile  string
	StdoutFile string
	StderrFile string

	View   bool // the process sees all processes of the cluster in its /proc (bpprocfs(8))
	HangUp bool // the process gets SIGHUP when this program ends before it

	Measure bool // Wait sets Usage

	PID    PID                // of the process and of its ghost, after Start
	Status syscall.WaitStatus // how the process ended, after Wait

	// Resources that the process has used, and the descendants that it has waited for. Wait sets it
	// with Measure; nil: it is not known.
	Usage *Usage

	client *Client
	inner  *client.Cmd  // nil before Start
	killed func() error // ends the watch of the context; returns the cause if that killed the process
	waited bool
}

// Usage is what a process has used (getrusage(2)). The kernel of the front end knows only what the
// ghost has used, so os/exec and the shell's time cannot tell.
type Usage struct {
	User   time.Duration // processor time
	System time.Duration // processor time in the kernel
	MaxRSS uint64        // most memory that one process had at a time, in bytes
}

// Command returns a command that executes a program on a node.
func (c *Client) Command(node NodeID, name string, arg ...string) *Cmd {
	return &Cmd{Node: node, Args: append([]string{name}, arg...), client: c}
}

// Run starts the command and waits for its end.
func (c *Cmd) Run(ctx context.Context) error {
	if err := c.Start(ctx); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns its standard output. If Stderr is nil, the end of
// standard error is kept in the [ExitError].
func (c *Cmd) Output(ctx context.Context) ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("bproc: Stdout is already set")
	}
	var stdout bytes.Buffer
	c.Stdout = &stdout
	var stderr *tail
	if c.Stderr == nil && c.StderrFile == "" {
		stderr = new(tail)
		c.Stderr = stderr
	}
	err := c.Run(ctx)
	var exit *ExitError
	if stderr != nil && errors.As(err, &exit) {
		exit.Stderr = stderr.last
	}
	return stdout.Bytes(), err
}

// CombinedOutput runs the command and returns what it wrote to standard output and standard error.
// The two come from the node separately, so their order may differ from that of the writes.
func (c *Cmd) CombinedOutput(ctx context.Context) ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("bproc: Stdout or Stderr is already set")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run(ctx)
	return out.Bytes(), err
}

// Start starts the command and returns when its execve(2) has succeeded. When it fails, no
// child is left. After Start the caller must call Wait.
func (c *Cmd) Start(ctx context.Context) error {
	if c.inner != nil {
		return errors.New("bproc: the command was already started")
	}
	from := c.client
	if from == nil {
		from = new(Client)
	}
	c.inner = from.internal().Command(client.NodeID(c.Node), "")
	c.inner.Args, c.inner.Env, c.inner.Dir = c.Args, c.Env, c.Dir
	c.inner.Stdin, c.inner.Stdout, c.inner.Stderr = c.Stdin, c.Stdout, c.Stderr
	c.inner.StdinFile, c.inner.StdoutFile, c.inner.StderrFile = c.StdinFile, c.StdoutFile, c.StderrFile
	c.inner.View, c.inner.HangUp, c.inner.Report = c.View, c.HangUp, c.Measure
	err := context.Cause(ctx)
	if err == nil {
		err = c.inner.Start(ctx)
	}
	if err != nil {
		c.closePipes()
		return exported(err)
	}
	c.PID = PID(c.inner.PID)
	c.killed = c.killWith(ctx)
	return nil
}

// killWith kills the process when ctx is done.
func (c *Cmd) killWith(ctx context.Context) (killed func() error) {
	stop := context.AfterFunc(ctx, func() { _ = c.inner.Signal(syscall.SIGKILL) })
	return func() error {
		if stop() {
			return nil
		}
		return context.Cause(ctx)
	}
}

// Wait waits until the process has ended and all of its output has been copied to Stdout
// and Stderr, and closes the pipes. The error is an [*ExitError] if the process did not end
// by exit(0), and another error if output was lost or input could not be read. Status is
// set in any case.
func (c *Cmd) Wait() error {
	switch {
	case c.killed == nil:
		return errors.New("bproc: the command was not started")
	case c.waited:
		return errors.New("bproc: Wait was already called")
	}
	c.waited = true
	status, err := c.inner.Wait()
	c.Status = syscall.WaitStatus(status)
	if used := c.inner.Usage; used != nil {
		const micro = time.Microsecond
		c.Usage = &Usage{User: time.Duration(used.User) * micro, System: time.Duration(used.System) * micro, MaxRSS: used.MaxRSS << 10}
	}
	if err = exported(err); err == nil && status != 0 {
		err = &ExitError{Status: c.Status}
	}
	if cause := c.killed(); cause != nil && c.Status.Signaled() && c.Status.Signal() == syscall.SIGKILL {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// Signal sends a signal to the process. After its end the error is os.ErrProcessDone.
func (c *Cmd) Signal(sig os.Signal) error {
	if c.killed == nil {
		return errors.New("bproc: the command was not started")
	}
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("bproc: %v is no signal of this system", sig)
	}
	return c.inner.Signal(number)
}

// StdinPipe returns a pipe to the standard input of the process. Close tells the process that
// the input has ended. Wait closes the pipe, too.
func (c *Cmd) StdinPipe() (io.WriteCloser, error) {
	if c.Stdin != nil || c.inner != nil {
		return nil, errors.New("bproc: Stdin is already set, or the command was started")
	}
	r, w := io.Pipe()
	c.Stdin = client.InputPipe{PipeReader: r}
	return w, nil
}

// StdoutPipe returns a pipe from the standard output of the process. Wait closes the pipe
// after the end of the process, so read to the end of file first.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) { return c.outputPipe(&c.Stdout) }

// StderrPipe is StdoutPipe for standard error.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) { return c.outputPipe(&c.Stderr) }

func (c *Cmd) outputPipe(output *io.Writer) (io.ReadCloser, error) {
	if *output != nil || c.inner != nil {
		return nil, errors.New("bproc: the output is already set, or the command was started")
	}
	p, err := client.NewOutputPipe()
	if err != nil {
		return nil, err
	}
	*output = p
	return p.Reader, nil
}

// closePipes closes the pipes of a command that did not start.
func (c *Cmd) closePipes() {
	for _, stream := range []any{c.Stdin, c.Stdout, c.Stderr} {
		switch p := stream.(type) {
		case client.InputPipe:
			_ = p.Close()
		case *client.OutputPipe:
			_ = p.Close()
		}
	}
}

// maxStarts bounds the starts of one RunAll that are under way.
const maxStarts = 128

// RunAll runs commands at the same time, and returns when all have ended. The error joins the
// errors of the commands, each with the number of its node. Writers that several commands share
// must be safe for use by several goroutines, as os.Stdout is.
func RunAll(ctx context.Context, cmds ...*Cmd) error {
	errs := make([]error, len(cmds))
	starts := make(chan struct{}, maxStarts)
	var group sync.WaitGroup
	for i, c := range cmds {
		group.Go(func() {
			starts <- struct{}{}
			err := c.Start(ctx)
			<-starts
			if err == nil {
				err = c.Wait()
			}
			errs[i] = c.named(err)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// named puts the number of the node before an error that does not name it.
func (c *Cmd) named(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) && e.Node == c.Node {
		return err
	}
	return fmt.Errorf("node %d: %w", c.Node, err)
}

// tailSize is the least that an ExitError keeps of a longer standard error.
const tailSize = 32 << 10

// tail keeps the end of what is written to it.
type tail struct{ last []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.last = append(t.last, b...)
	if len(t.last) > 2*tailSize {
		t.last = append([]byte(nil), t.last[len(t.last)-tailSize:]...)
	}
	return len(b), nil
}

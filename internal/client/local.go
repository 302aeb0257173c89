package client

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// local is a command on the front end: an ordinary child.
type local struct {
	cmd   *exec.Cmd
	files []*os.File
	stdin io.Reader
	pipes []*OutputPipe
}

// viewCommand is what runs a command on the front end that sees the cluster in /proc.
const viewCommand = "bpns"

func (c *Cmd) startLocal() error {
	args := c.Args
	if c.View {
		args = append([]string{viewCommand, "--"}, args...)
	}
	l := &local{cmd: exec.Command(args[0], args[1:]...), stdin: c.Stdin, pipes: c.pipes()}
	l.cmd.Env, l.cmd.Dir = c.Env, c.Dir
	if c.Path != "" && !c.View {
		l.cmd.Path, l.cmd.Err = c.Path, nil
	}
	if err := l.start(c); err != nil {
		l.close()
		return err
	}
	c.PID = PID(l.cmd.Process.Pid)
	c.process = l
	return nil
}

func (l *local) start(c *Cmd) error {
	l.cmd.Stdout, l.cmd.Stderr = ownEnd(c.Stdout), ownEnd(c.Stderr)
	const output = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if f, err := l.open(c.StdoutFile, output); err != nil {
		return err
	} else if f != nil {
		l.cmd.Stdout = f
	}
	if f, err := l.open(c.StderrFile, output); err != nil {
		return err
	} else if f != nil {
		l.cmd.Stderr = f
	}
	input, err := l.input(c)
	if err != nil {
		return err
	}
	if err := l.cmd.Start(); err != nil {
		return &Error{Node: FrontEnd, Stage: StageExec, Errno: startErrno(err)}
	}
	for _, p := range l.pipes {
		p.end() // the child has it
	}
	if input != nil {
		// Not waited for: see the package comment.
		go func() {
			defer endInput(c.Stdin)
			_, _ = io.Copy(input, c.Stdin)
			_ = input.Close()
		}()
	}
	return nil
}

// ownEnd returns the end of a pipe that is the child's. Other outputs are what they are.
func ownEnd(w io.Writer) io.Writer {
	if p, ok := w.(*OutputPipe); ok {
		return p.writer
	}
	return w
}

// input sets the standard input of the child. It returns the end of a pipe where
// there is something to copy.
func (l *local) input(c *Cmd) (io.WriteCloser, error) {
	f, err := l.open(c.StdinFile, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if f == nil {
		f, _ = c.Stdin.(*os.File)
	}
	if f != nil {
		l.cmd.Stdin = f
		return nil, nil
	}
	if c.Stdin == nil {
		return nil, nil
	}
	return l.cmd.StdinPipe()
}

// open opens a file that is named for a descriptor.
func (l *local) open(path string, flags int) (*os.File, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return nil, &Error{Node: FrontEnd, Stage: StageFile, Errno: errnoOf(err)}
	}
	l.files = append(l.files, f)
	return f, nil
}

func startErrno(err error) unix.Errno {
	if errors.Is(err, exec.ErrNotFound) {
		return unix.ENOENT
	}
	return errnoOf(err)
}

// waitOutput does not wait: the output is the child's own, or copied by os/exec
// until its Wait returns.
func (l *local) waitOutput() error { return nil }

func (l *local) wait() (Status, *Usage, error) {
	err := l.cmd.Wait()
	l.close()
	endInput(l.stdin)
	closeReaders(l.pipes, false)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	ws, _ := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	usage := new(Usage)
	if used, ok := l.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		usage = &Usage{User: uint64(used.Utime.Nano() / 1000), System: uint64(used.Stime.Nano() / 1000), MaxRSS: uint64(used.Maxrss)}
	}
	return Status(ws), usage, err
}

func (l *local) close() {
	for _, f := range l.files {
		_ = f.Close()
	}
}

func (l *local) signal(sig syscall.Signal) error { return l.cmd.Process.Signal(sig) }

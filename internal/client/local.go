package client

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// local is a command on the front end: an ordinary child.
type local struct {
	cmd   *exec.Cmd
	files []*os.File
	stdin io.Reader
	pipes []*OutputPipe

	copied  []*OutputPipe // outputs that are copied to writers
	copying errgroup.Group
}

// viewCommand is what runs a command on the front end that sees the cluster in /proc.
const viewCommand = "bpns"

func (c *Cmd) startLocal() error {
	args := c.Args
	if c.View {
		args = append([]string{viewCommand, "--"}, args...)
	}
	l := &local{cmd: exec.Command(args[0], args[1:]...), stdin: c.Stdin, pipes: c.pipes()}
	if errors.Is(l.cmd.Err, exec.ErrDot) { // PATH is the user's, as on nodes and in a shell
		l.cmd.Err = nil
	}
	l.cmd.Env, l.cmd.Dir = c.Env, c.localDir()
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

// localDir returns the working directory on the front end.
func (c *Cmd) localDir() string {
	if c.DirOptional && unix.Access(c.Dir+"/.", unix.X_OK) != nil {
		return "/"
	}
	return c.Dir
}

func (l *local) start(c *Cmd) error {
	if err := l.outputs(c); err != nil {
		return err
	}
	const output = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if f, err := l.open(c.StdoutFile, output); err != nil {
		return err
	} else if f != nil {
		l.cmd.Stdout = f
	}
	if c.StderrFile != "" && c.StderrFile == c.StdoutFile {
		l.cmd.Stderr = l.cmd.Stdout // with an offset of its own each would overwrite the other
	} else if f, err := l.open(c.StderrFile, output); err != nil {
		return err
	} else if f != nil {
		l.cmd.Stderr = f
	}
	input, err := l.input(c)
	if err != nil {
		return err
	}
	if err := l.cmd.Start(); err != nil {
		e := &Error{Node: FrontEnd, Stage: StageExec, Errno: startErrno(err)}
		if in := (*fs.PathError)(nil); errors.As(err, &in) && in.Op == "chdir" {
			e.Stage = StageDir
		}
		return e
	}
	for _, p := range append(l.pipes, l.copied...) {
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

// outputs sets the outputs of the child.
func (l *local) outputs(c *Cmd) (err error) {
	if l.cmd.Stdout, err = l.output(c.Stdout); err != nil {
		return err
	}
	if same(c.Stdout, c.Stderr) {
		l.cmd.Stderr = l.cmd.Stdout
		return nil
	}
	l.cmd.Stderr, err = l.output(c.Stderr)
	return err
}

// same reports whether two outputs are one; those that cannot be compared are not.
func same(a, b io.Writer) (is bool) {
	defer func() { _ = recover() }()
	return a == b
}

// output returns what the child has as an output: a file, or the end of a pipe. Package os/exec
// would copy to other writers, too, but cannot be told to stop.
func (l *local) output(w io.Writer) (io.Writer, error) {
	if w == nil {
		return nil, nil
	}
	if f, ok := FileOf(w); ok {
		return f, nil
	}
	if p, ok := w.(*OutputPipe); ok {
		return p.writer, nil
	}
	p, err := NewOutputPipe()
	if err != nil {
		return nil, err
	}
	l.copied = append(l.copied, p)
	l.copying.Go(func() error {
		defer p.Close() // who writes after an error is told so
		_, err := io.Copy(w, p.Reader)
		if errors.Is(err, os.ErrClosed) {
			return nil // see leave
		}
		return err
	})
	return p.writer, nil
}

// leave ends the copying of outputs.
func (l *local) leave() {
	for _, p := range l.copied {
		_ = p.Reader.Close()
	}
}

// input sets the standard input of the child. It returns the end of a pipe where
// there is something to copy.
func (l *local) input(c *Cmd) (io.WriteCloser, error) {
	f, err := l.open(c.StdinFile, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if f == nil {
		f, _ = FileOf(c.Stdin)
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

// waitOutput does not wait: the output is the child's own, or is copied until wait returns.
func (l *local) waitOutput() error { return nil }

func (l *local) wait() (Status, *Usage, error) {
	err := l.cmd.Wait()
	copyErr := l.copying.Wait()
	l.close()
	endInput(l.stdin)
	closeReaders(l.pipes, false)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	err = errors.Join(err, copyErr)
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
	for _, p := range l.copied {
		_ = p.Close()
	}
}

func (l *local) signal(sig syscall.Signal) error { return l.cmd.Process.Signal(sig) }

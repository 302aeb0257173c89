package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"syscall"

	"bproc/wire"
)

// Cmd is a command for a node, used once. Set it up, then Start and Wait.
type Cmd struct {
	Node NodeID   // FrontEnd: an ordinary child
	Args []string // Args[0] is looked up in PATH of Env, on the node
	Path string   // executed instead of Args[0]; empty: Args[0]
	Env  []string // NAME=VALUE; nil: the caller's
	Dir  string   // working directory, which the node must have; empty: the caller's, or "/"

	// DirOptional starts the command in "/" where the node does not have Dir.
	DirOptional bool

	// Standard input and outputs. Where nil, it is /dev/null. What Stdin
	// gives is sent as the process takes it; Wait does not wait for its end.
	// Stdout and Stderr are written to by the goroutine that waits. When a
	// Write fails the connection is closed, and Wait returns the error. An InputPipe or
	// OutputPipe is closed by Wait when the process has ended.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// Files of the node that are opened in place of these, the outputs
	// created or truncated.
	StdinFile  string
	StdoutFile string
	StderrFile string

	// View puts the view of bpprocfs(8) over /proc for the process: it sees the processes of
	// the whole cluster.
	View bool

	// HangUp sends the process SIGHUP when this program ends before it, and with Session
	// all processes of the session.
	HangUp bool

	// Session starts the process as the leader of a session of its own, as its ghost is
	// here, and with the default action for all signals.
	Session bool

	// Terminal, if it is not nil, is how a terminal on the node begins that is the
	// controlling terminal of the process, and its standard input, output and error:
	// Stderr is not used. There must be Stdin and Stdout, and Session is implied. Not on
	// the front end.
	Terminal *Terminal

	// Report has Wait return what the process has used, in Usage.
	Report bool

	// Ends says that the command only ends processes of the node. Root can start it where an administrator has nothing
	// new started (bpctl drain). A start fails with EAGAIN on a node that is away while processes may be left there,
	// and with EHOSTDOWN when none is.
	Ends bool

	PID   PID    // of the ghost and of the process, after Start
	Usage *Usage // after Wait, with Report; nil: not known

	client  *Client
	process process
}

// process is a command that was started.
type process interface {
	waitOutput() error
	wait() (Status, *Usage, error)
	signal(sig syscall.Signal) error
}

// Command returns a command for a node.
func (c *Client) Command(node NodeID, name string, args ...string) *Cmd {
	return &Cmd{Node: node, Args: append([]string{name}, args...), client: c}
}

// Start starts the command and returns when it runs: its execve has succeeded.
// ctx bounds only the start. When Start fails, no child is left. The error is
// an *Error when the master or the node said no.
func (c *Cmd) Start(ctx context.Context) error {
	if c.process != nil {
		return errors.New("command already started")
	}
	switch {
	case len(c.Args) == 0:
		return errors.New("command without a name")
	case c.Terminal != nil && (c.Stdin == nil || c.Stdout == nil || c.StdinFile+c.StdoutFile+c.StderrFile != "" || c.Node == FrontEnd):
		return errors.New("a terminal needs a node, and standard input and output that are no files of it")
	}
	var err error
	if c.client == nil {
		c.client = new(Client)
	}
	switch {
	case c.Node != FrontEnd:
		err = c.startRemote(ctx)
	case c.client.nested():
		err = &Error{Stage: StageNode, Text: "nodes start nothing on the front end"}
	default:
		err = c.startLocal()
	}
	var e *Error
	if errors.As(err, &e) {
		e.Node, e.Command = c.Node, c.operand(e.Stage)
	}
	return err
}

// leads reports whether the process leads a session.
func (c *Cmd) leads() bool { return c.Session || c.Terminal != nil }

// operand names what a stage of the start failed on.
func (c *Cmd) operand(stage Stage) string {
	switch stage {
	case StageFile:
	case StageDir:
		return c.Dir
	default:
		return cmp.Or(c.Path, c.Args[0])
	}
	name := ""
	for _, f := range []string{c.StdinFile, c.StdoutFile, c.StderrFile} {
		if f != "" && name != "" && f != name {
			return "one of the files for standard input and output"
		}
		if f != "" {
			name = f
		}
	}
	return name
}

// WaitOutput copies everything that the process and its children say to Stdout
// and Stderr, to the end of both. The process may go on. Most callers need only
// Wait.
func (c *Cmd) WaitOutput() error {
	if c.process == nil {
		return errors.New("command not started")
	}
	return c.process.waitOutput()
}

// Wait does what WaitOutput does and then waits for the end of the process. The error says
// that output was lost or input could not be read; the status holds in any case.
func (c *Cmd) Wait() (Status, error) {
	if c.process == nil {
		return 0, errors.New("command not started")
	}
	status, usage, err := c.process.wait()
	c.Usage = usage
	return status, err
}

// Signal sends a signal to the process. After Wait the error is
// os.ErrProcessDone.
func (c *Cmd) Signal(sig syscall.Signal) error {
	if c.process == nil {
		return errors.New("command not started")
	}
	return c.process.signal(sig)
}

// Terminal is how a terminal begins.
type Terminal struct {
	Size  Size
	Modes []byte // struct termios as the kernel has it (ioctl_tty(2): TCGETS); nil: those of a new terminal
}

// Size is the size of a terminal.
type Size = wire.Size

// NewSize returns a size: rows and columns, and width and height in pixels.
func NewSize(rows, columns, width, height uint16) Size {
	return wire.NewSize(rows, columns, width, height)
}

// Resize sets the size of the process's terminal.
func (c *Cmd) Resize(size Size) {
	if r, ok := c.process.(*remote); ok && c.Terminal != nil {
		r.stream.resize(size)
	}
}

// Leave closes the connection of a remote command that runs: with HangUp it gets SIGHUP.
// WaitOutput returns, and nobody need call Wait. Of a command on the front end outputs are not
// copied any more.
func (c *Cmd) Leave() {
	switch p := c.process.(type) {
	case *remote:
		p.stream.close()
	case *local:
		p.leave()
	}
}

// stdio returns what the first three descriptors are on the node.
func (c *Cmd) stdio() [3]wire.Descriptor {
	if c.Terminal != nil {
		return [3]wire.Descriptor{{Mode: wire.DescriptorStream}, {Mode: wire.DescriptorStream}, {Mode: wire.DescriptorTerminal}}
	}
	return [3]wire.Descriptor{
		descriptor(c.StdinFile, c.Stdin == nil || isNull(c.Stdin)),
		descriptor(c.StdoutFile, c.Stdout == nil || isNull(c.Stdout)),
		descriptor(c.StderrFile, c.Stderr == nil || isNull(c.Stderr)),
	}
}

func descriptor(file string, null bool) wire.Descriptor {
	switch {
	case file != "":
		return wire.Descriptor{Mode: wire.DescriptorFile, Path: file}
	case null:
		return wire.Descriptor{Mode: wire.DescriptorNull}
	}
	return wire.Descriptor{Mode: wire.DescriptorStream}
}

// isNull reports whether a stream is the null device (null(4): major 1, minor
// 3). The node has its own, so nothing need travel.
func isNull(stream any) bool {
	f, ok := FileOf(stream)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Mode&syscall.S_IFMT == syscall.S_IFCHR && st.Rdev == 1<<8|3
}

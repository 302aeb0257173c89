package client

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"bproc/internal/onscreen"
	"bproc/wire"
)

// ErrNoMaster is the error when nobody listens on the master's socket.
var ErrNoMaster = errors.New("no master is running here")

// ErrLost is the error when the connection to the master broke while it was
// needed, and no other could take its place, or when the process ended with all others of its
// node. Without the master it may go on; what it said since is lost.
var ErrLost = errors.New("the connection to the master is lost")

// lostError is ErrLost where the master, or the node, has said why.
type lostError struct{ cause error }

func (e *lostError) Error() string   { return e.cause.Error() }
func (e *lostError) Unwrap() []error { return []error{ErrLost, e.cause} }

// Stage tells at which step a request failed.
type Stage = wire.Stage

// The stages at which a request can fail.
const (
	StageRequest = wire.StageRequest // the master does not take it
	StageNode    = wire.StageNode    // the node is unknown, down, or not the caller's to use
	StageGhost   = wire.StageGhost   // the ghost could not be adopted
	StageSpawn   = wire.StageSpawn   // the node could not make the process
	StageExec    = wire.StageExec    // the command could not be executed
	StageFile    = wire.StageFile    // a file of the node could not be opened
	StageDir     = wire.StageDir     // the working directory could not be entered
)

// Error is a request that the master or a node did not carry out.
type Error struct {
	Node    NodeID // FrontEnd where no node was meant
	Command string // StageExec: the command, StageFile: the file, StageDir: the directory
	Stage   Stage
	Errno   unix.Errno // 0 where Text says it all
	Text    string
}

// Error returns one line that names the node.
func (e *Error) Error() string {
	if e.Node == FrontEnd {
		return e.reason()
	}
	sep := ": "
	if e.Stage == StageNode && e.Errno == unix.EHOSTDOWN && e.Text == "" {
		sep = " "
	}
	return fmt.Sprintf("node %d%s%s", e.Node, sep, e.reason())
}

func (e *Error) reason() string { return onscreen.Text(e.why()) }

func (e *Error) why() string {
	switch {
	case e.Text != "":
		return e.Text
	case e.Stage == StageNode && e.Errno == unix.ENXIO:
		return "no such node"
	case e.Stage == StageNode && e.Errno == unix.EHOSTDOWN:
		return "is down"
	case e.Stage == StageNode && e.Errno == unix.ESRCH:
		return "the process is not there any more"
	case e.Stage == StageExec && e.Errno == unix.ENOENT:
		return e.Command + ": command not found"
	case e.Stage == StageExec || e.Stage == StageFile && e.Command != "":
		return e.Command + ": " + e.Errno.Error()
	case e.Stage == StageDir:
		return "working directory " + e.Command + ": " + e.Errno.Error()
	case e.Stage == StageSpawn:
		return "the process could not be made: " + e.Errno.Error()
	case e.Stage == StageGhost:
		return "the ghost was not adopted: " + e.Errno.Error()
	}
	return e.Errno.Error()
}

// Unwrap returns the error number, for errors.Is.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// onNode names the node in an error of the master.
func onNode(err error, node NodeID) error {
	var e *Error
	if errors.As(err, &e) {
		e.Node = node
	}
	return err
}

// lost is broken where ctx may be the reason.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return broken(err)
}

// broken returns the error for a failure to read from or write to the master. How
// its end shows depends on what was under way, and tells nothing more.
func broken(err error) error {
	if errors.Is(err, wire.ErrFrame) {
		return err
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, unix.ECONNRESET, unix.EPIPE} {
		if errors.Is(err, end) {
			return ErrLost
		}
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if err != nil && !errors.As(err, &errno) {
		return unix.EIO
	}
	return errno
}

// passes reports whether the master only has no room for the request now.
func (e *Error) passes() bool {
	return e.Stage == StageRequest && (e.Errno == unix.EMFILE || e.Errno == unix.EAGAIN)
}

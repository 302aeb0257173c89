package bproc

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
)

// ErrNoMaster is the error when no master listens on the socket.
var ErrNoMaster = client.ErrNoMaster

// ErrLost is the error when the connection to the master broke and could not be restored, or
// when the process ended with all others of its node. Output of the process may be lost.
var ErrLost = client.ErrLost

// Stage is the step at which a request failed.
type Stage uint8

// The steps, in the order in which a command takes them.
const (
	StageRequest = Stage(client.StageRequest) // the master does not accept the request
	StageNode    = Stage(client.StageNode)    // the node is unknown, down, or not for this user
	StageGhost   = Stage(client.StageGhost)   // the ghost could not be adopted
	StageSpawn   = Stage(client.StageSpawn)   // the node could not make the process
	StageExec    = Stage(client.StageExec)    // the node could not execute the program
	StageFile    = Stage(client.StageFile)    // the node could not open a file for an input or output
	StageDir     = Stage(client.StageDir)     // the process could not enter its working directory
)

// Error is a request that the master or a node did not carry out.
type Error struct {
	Node  NodeID // FrontEnd if the request was about no node
	Stage Stage
	Errno syscall.Errno // 0 if there is none

	cause error // with the text
}

// Error returns one line that names the node.
func (e *Error) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("node %d: %v", e.Node, e.Errno)
	}
	return e.cause.Error()
}

// Unwrap lets errors.Is find Errno, and [ErrLost].
func (e *Error) Unwrap() error { return e.cause }

// exported returns an error as users of this package know it.
func exported(err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	return &Error{Node: NodeID(e.Node), Stage: Stage(e.Stage), Errno: e.Errno, cause: err}
}

// ExitError is the end of a process other than by exit(0).
type ExitError struct {
	Status syscall.WaitStatus
	Stderr []byte // the end of standard error, if the command was run by Output
}

// ExitCode returns the exit code of the process, or -1 if it was ended by a signal.
func (e *ExitError) ExitCode() int { return e.Status.ExitStatus() }

// Error says how the process ended.
func (e *ExitError) Error() string {
	if e.Status.Signaled() {
		sig := e.Status.Signal()
		if name := unix.SignalName(sig); name != "" {
			return fmt.Sprintf("killed by signal %d (%s)", int(sig), name)
		}
		return fmt.Sprintf("killed by signal %d", int(sig))
	}
	return fmt.Sprintf("exit status %d", e.ExitCode())
}

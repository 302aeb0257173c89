package bproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// remote is a process on a node.
//
//	client                       master
//	   | fork, exec of the image
//	   | Run --------------------->| adopts the ghost, spawns on the node
//	   |<------------------Started |
//	   | Stdin ... Stdin(empty) -->|
//	   |<--- Stdout, Stderr ... each ending with an empty one
//	   |<-------- end of this side | there is no more output
//	   | wait for the ghost        |
//	   | close ------------------->| before the ghost's end this means: hang up
type remote struct {
	ghost *ghost
	conn  *os.File
	drain func() error          // copies the output, once
	input atomic.Pointer[error] // why the input could not be read
}

func (c *Cmd) startRemote(ctx context.Context) error {
	client := c.client
	if client == nil {
		client = Default()
	}
	conn, err := client.dial()
	if err != nil {
		return err
	}
	image := client.ghostPath()
	ghost, err := fork(image, c.Args)
	if err != nil {
		conn.Close()
		return err
	}
	stdio := c.stdio()
	if err := c.run(ctx, conn, ghost, stdio); err != nil {
		conn.Close()
		ghost.discard(adopted(err))
		return explain(err, image)
	}
	r := &remote{ghost: ghost, conn: conn}
	r.drain = sync.OnceValue(newOutput(conn, c, stdio).copy)
	if stdio[0].Mode == wire.DescriptorStream {
		// Not waited for: see the package comment.
		go r.copyInput(FromTerminal(c.Stdin))
	}
	c.PID = PID(ghost.pid)
	c.process = r
	return nil
}

// run asks the master to start the command in place of the ghost.
func (c *Cmd) run(ctx context.Context, conn *os.File, g *ghost, stdio [3]wire.Descriptor) error {
	command, err := c.command(g)
	if err != nil {
		return err
	}
	command.Stdio = stdio
	stop := within(ctx, conn)
	m, err := exchange(ctx, conn, &wire.Run{
		Version: wire.Version, Node: c.Node, Ghost: PID(g.pid), HangUp: c.HangUp, Command: command,
	})
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	if err != nil {
		return err
	}
	if _, ok := m.(*wire.Started); !ok {
		return unexpected(m)
	}
	return nil
}

// adopted reports whether the ghost was the master's already when the start
// failed. Then the master ends it.
func adopted(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Stage >= StageSpawn
}

// explain adds the reason for which a ghost commonly cannot be adopted: its
// image did not get its file capability (capabilities(7), "Safe ... privilege-
// dumb": no_new_privs; mount(2): MS_NOSUID).
func explain(err error, image string) error {
	var e *Error
	if !errors.As(err, &e) || e.Stage != StageGhost || e.Text != "" {
		return err
	}
	if v, errno := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); errno == nil && v == 1 {
		e.Text = "a program under no_new_privs cannot have ghosts"
		return err
	}
	var fs unix.Statfs_t
	if unix.Statfs(image, &fs) == nil && fs.Flags&unix.ST_NOSUID != 0 {
		e.Text = fmt.Sprintf("%s is on a file system mounted with nosuid: ghosts need its file capability", image)
	}
	return err
}

func (r *remote) waitOutput() error { return r.drain() }

func (r *remote) wait() (Status, error) {
	err := r.drain()
	status, waitErr := r.ghost.wait()
	r.conn.Close()
	if in := r.input.Load(); in != nil {
		err = errors.Join(err, *in)
	}
	return status, errors.Join(err, waitErr)
}

func (r *remote) signal(sig syscall.Signal) error { return r.ghost.signal(sig) }

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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
	ghost    *ghost // nil: this is a node, and the process was started from here (nested.go)
	stream   *stream
	drain    func() error // copies the output, once
	stdin    io.Reader
	pipes    []*OutputPipe         // outputs that are; they are copied by a goroutine
	others   bool                  // there are outputs that are not
	input    atomic.Pointer[error] // why the input could not be read
	measures bool                  // wait returns what the process has used
}

func (c *Cmd) startRemote(ctx context.Context) error {
	for again := newRetries(absence); ; {
		err := c.startOn(ctx, c.client)
		if errors.Is(err, errExpired) || isLate(err) && again.pause(ctx.Done()) {
			continue
		}
		return err
	}
}

// isLate reports whether the ghost was not adopted because it has not got a processor for too long:
// another one may.
func isLate(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Stage == StageGhost && e.Errno == unix.EAGAIN
}

// errExpired is why a start is made once more: the master or the node was away, and the
// ghost has ended because nobody adopted it.
var errExpired = errors.New("no master has adopted the ghost")

func (c *Cmd) startOn(ctx context.Context, client *Client) error {
	if client.nested() {
		return c.startNested(ctx)
	}
	var conn *os.File
	place := starts.enter()
	defer place.leave()
	if place.alone {
		var err error
		if conn, err = client.reach(ctx); err != nil {
			return err
		}
	}
	image := client.ghostPath()
	ghost, err := fork(image, c.Args, c.leads())
	if err != nil {
		if conn == nil { // it has not asked whether there is a master, which would be the reason
			var none error
			if conn, none = client.reach(ctx); none != nil {
				return none
			}
		}
		conn.Close()
		return err
	}
	stdio := c.stdio()
	attach := wire.Attach{Version: wire.Version, Node: c.Node, Ghost: PID(ghost.pid), Launch: newLaunch(), HangUp: c.HangUp, Report: true}
	if conn, err = c.run(ctx, client, conn, place, ghost, &attach, stdio); err != nil {
		ghost.discard(adopted(err))
		return explain(err, image)
	}
	c.begin(&remote{ghost: ghost, stream: newStream(client, ghost, conn, attach, stdio), stdin: c.Stdin, pipes: c.pipes(), measures: c.Report})
	return nil
}

// begin has the bytes of a process that runs copied.
func (c *Cmd) begin(r *remote) {
	r.drain = sync.OnceValue(newOutput(r.stream, c).copy)
	if c.stdio()[0].Mode == wire.DescriptorStream {
		// Not waited for: see the package comment.
		r.stdin = FromFile(c.Stdin)
		go r.copyInput(r.stdin)
	}
	if len(r.pipes) > 0 {
		r.others = len(r.pipes) < r.stream.streams()
		go r.copyOutput()
	}
	c.PID = r.stream.attach.Ghost
	c.process = r
}

// run asks the master to start the command in place of the ghost, in one request with others if its ticket says
// so. If the connection breaks before the answer, it asks the next master, which finds out whether the former one
// has started the command. It asks again if that master has no room at the moment. It returns the connection that
// is left.
func (c *Cmd) run(ctx context.Context, client *Client, conn *os.File, place *ticket, g *ghost, attach *wire.Attach, stdio [3]wire.Descriptor) (*os.File, error) {
	command, err := c.command()
	if err != nil {
		_ = conn.Close() // there may be none
		return nil, err
	}
	command.Stdio = stdio
	run := &wire.Run{
		Version: attach.Version, Node: attach.Node, Ghost: attach.Ghost, HangUp: attach.HangUp, Command: command,
		Launch: attach.Launch, Report: attach.Report, Ends: c.Ends,
	}
	said := false
	if !place.alone {
		conn, err = place.ask(ctx, client, run)
		if said = conn != nil || err != nil; !said {
			if conn, err = client.reach(ctx); err != nil {
				return nil, err
			}
		}
	}
	for again := newRetries(absence); ; run.Again = true {
		if conn != nil {
			var m wire.Message
			if said {
				m, err = answerWithin(ctx, conn)
			} else {
				m, err = exchangeWithin(ctx, conn, run)
			}
			if _, ok := m.(*wire.Started); ok {
				return conn, nil
			}
			conn.Close()
			if err == nil {
				err = unexpected(m)
			}
		}
		var refused *Error
		passes := run.Again && errors.As(err, &refused) && refused.passes() // the process may run
		switch {
		case g.expired():
			return nil, errExpired
		case !passes && !errors.Is(err, ErrLost) && !errors.Is(err, ErrNoMaster), errors.Is(err, unix.ENOENT):
			return nil, err
		case !again.pause(ctx.Done()):
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return nil, err
		}
		said = false
		conn, err = client.dial()
	}
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

// copyOutput copies the output, and then looks after the connection until that is closed.
func (r *remote) copyOutput() {
	_ = r.drain()
	r.stream.await(func() bool { return false })
}

func (r *remote) wait() (Status, *Usage, error) {
	defer endInput(r.stdin)
	var report *wire.Ended
	if len(r.pipes) > 0 {
		if err := r.awaitEnd(); err != nil {
			return 0, nil, err
		}
		closeReaders(r.pipes, r.others)
		if !r.others {
			report = r.report()
			r.stream.close() // a child of the process may have the outputs open
		}
	}
	err := r.drain()
	status, waitErr := r.waitGhost()
	sig, _ := status.Signaled()
	killed := sig == int(unix.SIGKILL)
	if report == nil && (killed || r.measures) {
		report = r.report()
	}
	if killed && err == nil && waitErr == nil {
		err = r.stream.lostWithNode(report)
	}
	r.stream.close()
	if in := r.input.Load(); in != nil {
		err = errors.Join(err, *in)
	}
	var usage *Usage
	if report != nil {
		usage = report.Usage
	}
	return status, usage, errors.Join(err, waitErr)
}

// reportTime is how long the master's report of an end may come later than the end is known.
const reportTime = 5 * time.Second

// report returns what the master says of the end of the process, which has ended; nil: nothing.
func (r *remote) report() *wire.Ended {
	late := time.AfterFunc(reportTime, r.stream.close)
	defer late.Stop()
	return r.stream.awaitEnded()
}

// longWait is for how long a process may go on after its outputs have ended before
// somebody looks after the connection again.
const longWait = time.Second

// waitGhost waits for the ghost. While the connection is not needed any more, its end
// still means that this client is gone, so another takes its place.
func (r *remote) waitGhost() (Status, error) {
	if r.ghost == nil {
		return r.waitNested()
	}
	_ = r.ghost.file.SetReadDeadline(time.Now().Add(longWait))
	status, err := r.ghost.wait()
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return status, err
	}
	// Not waited for: see the package comment.
	go r.stream.await(func() bool { return false })
	_ = r.ghost.file.SetReadDeadline(time.Time{})
	return r.ghost.wait()
}

func (r *remote) signal(sig syscall.Signal) error {
	if r.ghost == nil {
		return r.signalNested(sig)
	}
	return r.ghost.signal(sig)
}

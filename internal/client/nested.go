package client

import (
	"context"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// On a node the daemon of that passes on what is asked of the master. A process that is started
// from there is a child of this one on the front end, where its ghost is, and there alone: this
// kernel knows nothing of it. So the master says how it ends.

// nested reports whether this is a node, where there is no master.
func (c *Client) nested() bool {
	return c.socket() == DefaultSocket && unix.Access(DefaultSocket, unix.F_OK) == unix.ENOENT && hereIsNode()
}

func (c *Cmd) startNested(ctx context.Context) error {
	client := &Client{Socket: NodeSocket}
	conn, err := client.reach(ctx)
	if err != nil {
		return err
	}
	command, err := c.command()
	if err == nil {
		command.Stdio = c.stdio()
		command.Umask, err = umask()
	}
	run := &wire.Run{
		Version: wire.Version, Node: c.Node, HangUp: c.HangUp, Command: command, Launch: newLaunch(), Report: true, Leads: c.leads(),
	}
	var m wire.Message
	if err == nil {
		m, err = exchangeWithin(ctx, conn, run)
	}
	started, ok := m.(*wire.Started)
	switch {
	case err != nil:
	case !ok || started.PID <= 0:
		err = unexpected(m)
	default:
		attach := wire.Attach{Version: wire.Version, Node: c.Node, Ghost: started.PID, Launch: run.Launch, HangUp: c.HangUp, Report: true}
		c.begin(&remote{stream: newStream(client, nil, conn, attach, command.Stdio), stdin: c.Stdin, pipes: c.pipes(), measures: c.Report})
		return nil
	}
	conn.Close()
	return err
}

// umask returns that of this process, which umask(2) does not tell without changing it.
func umask() (uint32, error) {
	status, err := procstat.ReadFile("/proc/self/status", procstat.Whole)
	if err != nil {
		return 0, err
	}
	mask, err := statusField(status, "Umask:", 8)
	return uint32(mask), err
}

// awaitEnded waits until the master has said how the process has ended; nil: it will not.
func (s *stream) awaitEnded() *wire.Ended {
	s.await(func() bool { return s.frames.ended != nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frames.ended
}

// hasEnded reports whether the process is known to have ended.
func (s *stream) hasEnded() bool {
	if s.ghost != nil {
		return s.ghost.ended()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frames.ended != nil
}

func (r *remote) awaitEnd() error {
	if r.ghost != nil {
		return r.ghost.awaitEnd()
	}
	_, err := r.waitNested()
	return err
}

// errHow is why there is no status.
var errHow = errors.New("it is not known how the process has ended")

func (r *remote) waitNested() (Status, error) {
	ended := r.stream.awaitEnded()
	if ended == nil || ended.Status == wire.StatusUnknown {
		return 0, errHow
	}
	return ended.Status, nil
}

func (r *remote) signalNested(sig syscall.Signal) error {
	if r.stream.hasEnded() {
		return os.ErrProcessDone
	}
	err := unix.Kill(int(r.stream.attach.Ghost), sig)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

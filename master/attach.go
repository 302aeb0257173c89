package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// attach goes on with a process for a client whose connection was lost.
func (c *clientConn) attach(ctx context.Context, m *wire.Attach) error {
	leave, err := c.seat()
	if leave == nil {
		return err
	}
	defer leave()
	c.wantsEnded(m.Report)
	defer c.m.state.enterClient(c)()
	in := core.Attach{Client: c.id, Node: m.Node}
	if c.from != nil {
		if err := c.identify(ctx); err != nil {
			return errors.Join(err, c.unidentified(err))
		}
		in.From, in.Who, in.PID, in.Launch = c.from.id, c.who, m.Ghost, m.Launch
	}
	if err := c.m.state.step(ctx, in); err != nil {
		return err
	}
	var s *slaveConn
	select {
	case found := <-c.steps:
		s = found.resume
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s == nil {
		return c.failed(wire.StageNode, unix.EHOSTDOWN, "")
	}
	return c.resume(ctx, s, &wire.Resume{PID: m.Ghost, Launch: m.Launch, UID: c.who.UID, Output: m.Output}, m.HangUp)
}

// resumeTime bounds how long a node may take to say what it has of a process.
const resumeTime = 30 * time.Second

// resume goes on with a process on its node. When the session ends meanwhile, so does
// the connection, and the client asks again.
func (c *clientConn) resume(ctx context.Context, s *slaveConn, m *wire.Resume, hangUp bool) error {
	if err := c.awaitLink(ctx, m.PID, s); err != nil {
		return err
	}
	stream, err := s.open(ctx, m)
	if err != nil {
		return err
	}
	resumed, err := resumed(stream)
	if err != nil {
		return errors.Join(err, c.leave(ctx, stream))
	}
	if errno := unix.Errno(resumed.Errno); errno != 0 {
		err := c.leave(ctx, stream)
		if errno == unix.ESRCH {
			err = errors.Join(err, c.m.state.step(ctx, core.ClientRefused{Session: s.id, UID: c.who.UID, PID: m.PID, Launch: m.Launch}))
		}
		return errors.Join(err, c.refused(m.PID, errno))
	}
	if err := c.m.state.step(ctx, core.ClientAttached{Session: s.id, Client: c.id, Parent: c.who.PID, PID: m.PID, Launch: m.Launch, HangUp: hangUp, Report: c.ended != nil}); err != nil {
		return err
	}
	// A client that is gone is found out by relay.
	_ = c.reply(&wire.Started{Taken: resumed.Taken})
	return c.relay(ctx, m.PID, s, stream)
}

// Why nothing is resumed.
var (
	errNodeLost   = errors.New("the session with the node has ended")
	errClientGone = errors.New("the client has not waited for the link")
)

// awaitLink waits while the link with a node is cut, as long as the client does. What is sent meanwhile arrives when
// the link is there again: Resume, and right behind it the end of the stream of a client that has not waited, which
// the node would take for one that has left its process.
func (c *clientConn) awaitLink(ctx context.Context, pid wire.PID, s *slaveConn) error {
	up, _, changed := s.link.Connected()
	if up {
		return nil
	}
	gone := c.goneFrom(pid)
	look := time.NewTicker(lookAfter)
	defer look.Stop()
	for !up {
		select {
		case <-changed:
		case <-s.link.Done():
			return errNodeLost
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if gone() {
			return errClientGone
		}
		up, _, changed = s.link.Connected()
	}
	return nil
}

// refused says that a node does not go on with a process.
func (c *clientConn) refused(pid wire.PID, errno unix.Errno) error {
	text := ""
	if errno == unix.ESRCH {
		text = fmt.Sprintf("it has nothing more of process %d for this client", pid)
	}
	return c.failed(wire.StageNode, errno, text)
}

// resumed reads the answer to Resume.
func resumed(stream stream) (*wire.Resumed, error) {
	if err := stream.SetReadDeadline(time.Now().Add(resumeTime)); err != nil {
		return nil, err
	}
	reader := wire.NewReader(stream)
	reader.Admit(atMost(maxAnswer))
	m, _, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("answer to Resume: %w", err)
	}
	r, ok := m.(*wire.Resumed)
	if !ok {
		return nil, fmt.Errorf("answer to Resume: %w", core.ErrUnexpected)
	}
	return r, stream.SetReadDeadline(time.Time{})
}

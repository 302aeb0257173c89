package client

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// How long a master may be away.
const (
	restartTime = 5 * time.Second // one whose socket is there: it is back soon, or not at all
	absence     = time.Minute     // one that is to start a process, or has the output of one that has ended
	whyTime     = 5 * time.Second // one that knows why all processes of a node were killed
	firstPause  = 20 * time.Millisecond
	longPause   = time.Second
)

// newLaunch returns a number for a process that nobody guesses, and that costs no
// system call: Go's generator has its seed from the kernel (getauxval(3), AT_RANDOM).
func newLaunch() uint64 { return rand.Uint64() | 1 }

// reach connects to the master. A socket that refuses is that of a master that has
// ended, and is back soon if it is to be back at all.
func (c *Client) reach(ctx context.Context) (*os.File, error) {
	conn, err := c.dial()
	if !errors.Is(err, unix.ECONNREFUSED) {
		return conn, err
	}
	again := newRetries(restartTime)
	for errors.Is(err, unix.ECONNREFUSED) && again.pause(ctx.Done()) {
		conn, err = c.dial()
	}
	if err == nil || ctx.Err() == nil {
		return conn, err
	}
	return nil, context.Cause(ctx)
}

// retries is for how long something is tried again, with longer and longer pauses.
type retries struct {
	until time.Time
	next  time.Duration
}

func newRetries(length time.Duration) retries {
	return retries{until: time.Now().Add(length), next: firstPause}
}

// pause reports whether to try once more.
func (r *retries) pause(done <-chan struct{}) bool {
	if !time.Now().Before(r.until) {
		return false
	}
	timer := time.NewTimer(r.next)
	defer timer.Stop()
	r.next = min(r.next*3/2, longPause)
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}

// renewLocked has another connection take the place of one that has broken. It is
// tried for as long as the ghost lives, and a while longer for what the process has
// said before its end.
//
// A bypass that has broken may have left the connection beside it in order. That one stays until the other
// is there: its end would mean that this client leaves.
func (s *stream) renewLocked() {
	if s.past != nil {
		s.past.Close()
		s.brokeLocked(s.pastFrom)
	}
	if s.past == nil && !s.moving || s.aside {
		s.conn.Close()
	}
	former := s.conn
	s.past, s.aside = nil, false
	defer former.Close()
	again := newRetries(absence)
	for {
		s.attach.Output = s.frames.got
		s.mu.Unlock()
		conn, taken, err := s.reattach()
		s.mu.Lock()
		s.pending = nil
		switch {
		case s.closed:
			if conn != nil {
				conn.Close()
			}
			return
		case err == nil:
			s.goOnLocked(conn, taken)
			return
		case s.isOverLocked(err):
			return
		}
		s.mu.Unlock()
		if !s.hasEnded() {
			again.until = time.Now().Add(absence)
		}
		more := again.pause(s.gone)
		s.mu.Lock()
		switch {
		case s.closed:
			return
		case !more:
			s.failLocked(ErrLost)
			return
		}
	}
}

// isOverLocked reports whether another attempt would fail like the one that failed with err. The
// process is lost then.
func (s *stream) isOverLocked(err error) bool {
	var refused *Error
	switch {
	case errors.As(err, &refused) && !refused.passes() || errors.Is(err, wire.ErrFrame):
		s.failLocked(&lostError{onNode(err, s.attach.Node)})
	case errors.Is(err, unix.ENOENT) && s.ghost != nil: // the last master removes its socket
		s.failLocked(ErrLost)
	default:
		return false
	}
	return true
}

// reattach asks the master for the process over another connection.
func (s *stream) reattach() (conn *os.File, taken uint64, err error) {
	if conn, err = s.client.dial(); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	s.pendLocked(conn)
	s.mu.Unlock()
	if taken, err = goOnWith(conn, &s.attach, absence); err != nil {
		conn.Close()
		return nil, 0, err
	}
	return conn, taken, nil
}

// pendLocked has close end a connection that is to take the place of another.
func (s *stream) pendLocked(conn io.Closer) {
	if s.closed {
		conn.Close()
	}
	s.pending = conn
}

// goOnWith says Attach, and returns how much input the node has taken.
func goOnWith(conn *os.File, attach *wire.Attach, within time.Duration) (taken uint64, err error) {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return 0, broken(err)
	}
	if err := wire.Write(conn, 0, attach); err != nil {
		return 0, broken(err)
	}
	m, _, err := wire.NewReader(conn).Read()
	if err != nil {
		return 0, broken(err)
	}
	if m, err = accepted(m); err != nil {
		return 0, err
	}
	if started, ok := m.(*wire.Started); ok {
		return started.Taken, conn.SetDeadline(time.Time{})
	}
	return 0, unexpected(m)
}

// goOnLocked goes on with another connection.
func (s *stream) goOnLocked(conn *os.File, taken uint64) {
	s.conn, s.broken = conn, false
	s.frames.renew()
	s.frames.taken = taken
	s.told = [2]uint64{} // it may have been lost with the former connection
	s.resized = s.size != 0
	if err := s.kept.renew(taken); err != nil {
		s.failLocked(err)
		return
	}
	if s.unsentLocked() {
		go s.send() // until the connection takes it, or ends
	}
}

// lostWithNode returns an error that says what is with the node if a process was killed with all others
// of that. The report is the master's, or nil.
func (s *stream) lostWithNode(report *wire.Ended) error {
	s.mu.Lock()
	err, attach := s.err, s.attach
	attach.Output, attach.Report = s.frames.got, false
	s.mu.Unlock()
	var lost *lostError
	switch {
	case errors.As(err, &lost):
		return err
	case report == nil || !report.WithNode:
		return nil
	}
	if conn, err := s.client.dial(); err == nil {
		defer conn.Close()
		var refused *Error
		if _, err = goOnWith(conn, &attach, whyTime); errors.As(err, &refused) && refused.Stage == StageNode {
			return &lostError{onNode(err, attach.Node)}
		}
	}
	return &lostError{&Error{Node: attach.Node, Stage: StageNode, Errno: unix.EHOSTDOWN, Text: "all its processes were ended"}}
}

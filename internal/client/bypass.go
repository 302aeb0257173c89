package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/bypass"
)

// A process that moves much data gets a connection past the master ("Bypasses" in wire/PROTOCOL.md).
const (
	bypassAfter = 4 << 20          // bytes of a process, of all its descriptors, before a bypass is asked for
	bypassTime  = 15 * time.Second // to make one, longer than the master and the node take
	bypassDead  = 30 * time.Second // without an answer of the node's kernel to what was sent

	bypassGood   = 64 << 20         // bytes over a bypass that has been of use, though it breaks
	bypassLonger = 10 * time.Minute // at most between two, if they break: what is between may not let them through
)

// bypassAgain is the pause before a bypass is requested again. It doubles with each bypass that breaks at once.
var bypassAgain = 10 * time.Second

// beside is the connection to the master while a bypass carries the frames. It says which events have had their
// effect, how the process has ended, and, by its end, that the bypass is to end.
type beside struct {
	conn   *os.File
	frames frames // what comes of outputs was on its way before the bypass, and comes there again
}

// consider has a bypass made if the process moves much.
func (s *stream) consider() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.movedLocked() < bypassAfter || s.past != nil || s.asking || s.ghost == nil || s.closed || s.err != nil ||
		time.Since(s.asked) < max(bypassAgain, s.pause) {
		return
	}
	s.asking, s.asked = true, time.Now()
	go s.takeBypass() // ends with the connection, or after bypassTime
}

// movedLocked returns how many bytes have been moved, in both directions.
func (s *stream) movedLocked() uint64 { return s.frames.got[0] + s.frames.got[1] + s.kept.sent }

// brokeLocked records that a bypass has broken. begun is the number of bytes moved before it was made.
func (s *stream) brokeLocked(begun uint64) {
	if s.movedLocked()-begun >= bypassGood {
		s.pause = 0
	} else {
		s.pause = min(2*max(bypassAgain, s.pause), bypassLonger)
	}
}

// takeBypass asks for a bypass, and has the frames go there. Without one all goes on as before.
func (s *stream) takeBypass() {
	defer func() {
		s.mu.Lock()
		s.asking = false
		s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), bypassTime) //nolint:forbidigo // no caller waits for it
	defer cancel()
	conn, err := s.client.bypass(ctx, &s.attach)
	if err != nil {
		return
	}
	s.sending.Lock() // what is being sent goes by the connection where it has begun
	defer s.sending.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moving = true
	for s.reading {
		_ = s.conn.SetReadDeadline(time.Unix(1, 0)) // the reader leaves the connection
		s.changed.Wait()
	}
	_ = s.conn.SetReadDeadline(time.Time{})
	s.goPastLocked(conn)
	s.moving = false
	s.changed.Broadcast()
}

// goPastLocked has the frames go by a bypass. Nobody reads or sends meanwhile.
func (s *stream) goPastLocked(conn *bypass.Conn) {
	if s.closed || s.err != nil {
		conn.Close()
		return
	}
	resume := &wire.Resume{PID: s.attach.Ghost, Launch: s.attach.Launch, Output: s.frames.got}
	s.pendLocked(conn)
	s.mu.Unlock()
	taken, err := resumeBy(conn, resume)
	s.mu.Lock()
	s.pending = nil
	switch {
	case s.closed || s.err != nil:
		conn.Close()
	case err != nil: // the node may have gone on there
		conn.Close()
		s.brokeLocked(s.movedLocked())
		s.renewLocked()
	default:
		b := &beside{conn: s.conn, frames: s.frames}
		s.frames.renew()
		s.frames.past, s.frames.taken = true, taken
		s.told = [2]uint64{}
		s.resized = s.size != 0
		if err := s.kept.renew(taken); err != nil {
			conn.Close()
			s.failLocked(err)
			return
		}
		s.past, s.pastFrom, s.effective = conn, s.movedLocked(), 0
		go s.watch(b, conn) // ends with the connection
		if s.unsentLocked() {
			go s.send() // until the connection takes it, or ends
		}
	}
}

// resumeBy says from where the client goes on, and returns how much input the node has taken.
func resumeBy(conn *bypass.Conn, resume *wire.Resume) (taken uint64, err error) {
	frame, err := wire.Append(nil, 0, resume)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(bypassTime))
	}
	if err == nil {
		_, err = conn.Write(frame)
	}
	if err != nil {
		return 0, err
	}
	record := make([]byte, bypass.MaxRecord)
	n, err := conn.Read(record)
	if err != nil {
		return 0, err
	}
	m, _, err := wire.NewReader(bytes.NewReader(record[:n])).Read()
	if err != nil {
		return 0, err
	}
	resumed, ok := m.(*wire.Resumed)
	switch {
	case !ok:
		return 0, unexpected(m)
	case resumed.Errno != 0:
		return 0, unix.Errno(resumed.Errno)
	}
	return resumed.Taken, conn.SetDeadline(time.Time{})
}

// readPastLocked is readLocked for a bypass: one record at a time.
func (s *stream) readPastLocked(output []piece) ([]piece, *[outputBuffer]byte) {
	conn := s.past
	s.mu.Unlock()
	var buf *[outputBuffer]byte
	var record []byte
	err := conn.Await()
	if err == nil {
		buf = outputBuffers.Get().(*[outputBuffer]byte)
		record, err = conn.Open(buf[:])
	}
	s.mu.Lock()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded): // see watch
		_ = conn.SetReadDeadline(time.Time{})
		return nil, nil
	case err != nil:
		if !s.closed {
			s.renewLocked()
		}
		return nil, buf
	}
	before, all := s.frames, len(output)
	output, err = s.frames.take(output, record)
	if err == nil {
		err = s.kept.take(s.frames.taken)
	}
	if err != nil {
		s.failLocked(err)
		return output, buf
	}
	for s.frames.number > s.effective && s.past == conn && !s.aside && !s.closed {
		s.changed.Wait()
	}
	if s.frames.number > s.effective { // it is said again where the process goes on
		before.ended = s.frames.ended
		s.frames = before
		if !s.closed {
			s.renewLocked()
		}
		return output[:all], buf
	}
	return output, buf
}

// watch reads the connection beside a bypass to its end, and ends the bypass then.
func (s *stream) watch(b *beside, conn *bypass.Conn) {
	raw, err := b.conn.SyscallConn()
	for err == nil {
		var buf *[outputBuffer]byte
		var n int
		if buf, n, err = receive(raw); err == nil && n == 0 {
			err = errClosed
		}
		if err == nil {
			_, err = b.frames.take(nil, buf[:n])
		}
		if buf != nil {
			outputBuffers.Put(buf)
		}
		s.mu.Lock()
		if s.past == conn {
			s.effective = max(s.effective, b.frames.effective)
			if b.frames.ended != nil && s.frames.ended == nil {
				s.frames.ended = b.frames.ended
				_ = conn.SetReadDeadline(time.Unix(1, 0)) // the reader may wait for nothing but this
			}
			s.changed.Broadcast()
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.past == conn {
		s.aside = true // nothing will have its effect any more
		s.changed.Broadcast()
	}
	conn.Close() // the reader goes on by another connection
}

// bypass asks the master for a connection to the node of a process.
func (c *Client) bypass(ctx context.Context, attach *wire.Attach) (*bypass.Conn, error) {
	conn, err := c.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := within(ctx, conn)
	file, answer, err := askForFile(conn, &wire.Bypass{Version: wire.Version, Node: attach.Node, PID: attach.Ghost, Launch: attach.Launch})
	if err := errors.Join(err, stop()); err != nil {
		if file != nil {
			file.Close()
		}
		return nil, err
	}
	past, err := bypass.New(file, answer.ToClient, answer.ToNode)
	if err == nil {
		err = errors.Join(past.SetDeadline(time.Now().Add(bypassTime)), past.Await())
	}
	if err == nil {
		_, err = past.Open(nil) // before this the node's TLS may have read what we say
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return past, nil
}

// askForFile makes a request whose answer comes with a descriptor (unix(7), SCM_RIGHTS), of a connection of TCP.
func askForFile(conn *os.File, request wire.Message) (*os.File, *wire.Bypassed, error) {
	if err := wire.Write(conn, 0, request); err != nil {
		return nil, nil, err
	}
	text := make([]byte, 4096)
	n, fds, err := receiveRights(conn, text, 1)
	if err != nil {
		return nil, nil, err
	}
	file, err := fileOf(fds)
	if err != nil {
		return nil, nil, err
	}
	m, _, err := wire.NewReader(bytes.NewReader(text[:n])).Read()
	if err == nil {
		m, err = accepted(m)
	}
	if err != nil {
		return file, nil, err
	}
	answer, ok := m.(*wire.Bypassed)
	if !ok || file == nil {
		return file, nil, unexpected(m)
	}
	return file, answer, nil
}

// fileOf returns the one descriptor that has come with a message; nil: none has.
func fileOf(fds []int) (*os.File, error) {
	if len(fds) == 0 {
		return nil, nil
	}
	if len(fds) != 1 {
		return nil, fmt.Errorf("%d descriptors have come, not one", len(fds))
	}
	err := errors.Join(
		unix.SetNonblock(fds[0], true),
		unix.SetsockoptInt(fds[0], unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(bypassDead.Milliseconds())),
		unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
		unix.SetsockoptInt(fds[0], unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(bypassDead.Seconds())/3),
		unix.SetsockoptInt(fds[0], unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(bypassDead.Seconds())/6),
	)
	if err != nil {
		unix.Close(fds[0])
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "bypass"), nil
}

package master

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/link"
)

// bypassTime bounds how long a node may take to connect for a bypass.
const bypassTime = 10 * time.Second

// bypasses has the clients that wait for a bypass, at most maxLooks of a user.
type bypasses struct {
	asking viewers

	mu      sync.Mutex
	waiting map[string]*bypassWait // by token
}

// bypassWait is a client that waits for the end of a bypass.
type bypassWait struct {
	key  string // of the node that is to connect
	came chan link.BypassEnd
	left bool // the client does not wait any more
}

// expect has the node with a key awaited.
func (b *bypasses) expect(key string) (token []byte, w *bypassWait, forget func()) {
	token = make([]byte, wire.BypassToken)
	_, _ = rand.Read(token) // it does not fail
	w = &bypassWait{key: key, came: make(chan link.BypassEnd, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string]*bypassWait{}
	}
	b.waiting[string(token)] = w
	return token, w, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, string(token))
		w.left = true
		select {
		case end := <-w.came: // too late
			end.Socket.Close()
		default:
		}
	}
}

// take returns the function of the client that waits for a token, which no other gets then; nil: none does.
func (b *bypasses) take(key string, token []byte) func(link.BypassEnd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[string(token)]
	if w == nil || subtle.ConstantTimeCompare([]byte(w.key), []byte(key)) == 0 {
		return nil
	}
	delete(b.waiting, string(token))
	return func(end link.BypassEnd) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if w.left {
			end.Socket.Close()
		} else {
			w.came <- end
		}
	}
}

// bypass puts a client together with the node of its process. The node knows whose process it is.
func (c *clientConn) bypass(ctx context.Context, m *wire.Bypass) error {
	conn, ok := c.conn.(*net.UnixConn)
	if !ok {
		return c.failed(wire.StageRequest, unix.EOPNOTSUPP, "only clients of the front end have bypasses")
	}
	leave, ok := c.m.bypasses.asking.enter(c.who.UID)
	if !ok {
		return c.failed(wire.StageRequest, unix.EAGAIN, "")
	}
	defer leave()
	s, errno := c.m.state.sessionFor(m.Node, 0)
	if errno != 0 || s == nil {
		return c.failed(wire.StageNode, unix.EHOSTDOWN, "")
	}
	waiting, here := c.whileHere(ctx, bypassTime)
	end, err := c.m.bypasses.open(waiting, s, &wire.OpenBypass{PID: m.PID, Launch: m.Launch, UID: c.who.UID})
	here()
	if err != nil {
		return c.failed(wire.StageNode, errnoOf(err), err.Error())
	}
	defer end.Socket.Close()
	frame, err := wire.Append(nil, 0, &wire.Bypassed{ToNode: end.ToNode, ToClient: end.ToClient})
	if err != nil {
		return err
	}
	return sendFile(conn, frame, end.Socket)
}

// open has a node connect, and returns the end that is to be the client's.
func (b *bypasses) open(ctx context.Context, s *slaveConn, m *wire.OpenBypass) (link.BypassEnd, error) {
	token, w, forget := b.expect(s.peer.Key)
	defer forget()
	m.Token = token
	answer, err := question[*wire.Resumed](ctx, s, m)
	if err == nil && answer.Errno != 0 {
		err = unix.Errno(answer.Errno)
	}
	if err != nil {
		return link.BypassEnd{}, err
	}
	select {
	case end := <-w.came:
		return end, nil
	case <-ctx.Done():
		return link.BypassEnd{}, fmt.Errorf("the node does not connect: %w", unix.ETIMEDOUT)
	}
}

// sendFile writes a frame with a descriptor (unix(7), SCM_RIGHTS).
func sendFile(conn *net.UnixConn, frame []byte, file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	if err := conn.SetWriteDeadline(time.Now().Add(replyTime)); err != nil {
		return err
	}
	var written error
	err = raw.Control(func(fd uintptr) {
		_, _, written = conn.WriteMsgUnix(frame, unix.UnixRights(int(fd)), nil)
	})
	if err != nil {
		return err
	}
	return written
}

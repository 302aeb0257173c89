package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// The nouns of the cluster, as they are on the wire.
type (
	NodeID = wire.NodeID
	PID    = wire.PID
	Status = wire.Status
	Node   = wire.Node
	Proc   = wire.Proc
	Usage  = wire.Usage
)

// FrontEnd is the node number of the front end.
const FrontEnd = wire.FrontEnd

// DefaultSocket is where the master listens for clients.
const DefaultSocket = "/run/bproc/master.sock"

// NodeSocket is where the daemon of a node listens for those who look at the cluster. It
// answers NodesSeen, Look and Inspect.
const NodeSocket = "/run/bproc/slave.sock"

// Client talks to the master of this machine. The zero value is ready to use,
// and safe for use by several goroutines. It holds no connection: every request
// and every command has its own.
type Client struct {
	Socket    string // of the master; empty: $BPROC_SOCKET, or DefaultSocket
	GhostPath string // of the ghost's image; empty: ../lib/bproc/ghost seen from the running program, or the system's
}

func (c *Client) socket() string {
	if c.Socket != "" {
		return c.Socket
	}
	if s := os.Getenv("BPROC_SOCKET"); s != "" {
		return s
	}
	return DefaultSocket
}

// systemGhosts are the images of the usual installations, for programs that
// are not part of one.
var systemGhosts = []string{"/usr/local/lib/bproc/ghost", "/usr/lib/bproc/ghost"}

func (c *Client) ghostPath() string {
	if c.GhostPath != "" {
		return c.GhostPath
	}
	var candidates []string
	if exe, err := os.Executable(); err == nil {
		candidates = append(candidates, filepath.Join(filepath.Dir(filepath.Dir(exe)), "lib/bproc/ghost"))
	}
	candidates = append(candidates, systemGhosts...)
	for _, path := range candidates {
		if unix.Access(path, unix.X_OK) == nil {
			return path
		}
	}
	return candidates[0]
}

// connectTimeout bounds how long the master may leave a connection unaccepted.
const connectTimeout = 10 * time.Second

// dial connects to the master. It does without package net, which costs a
// command as short as bpsh more than everything else here.
func (c *Client) dial() (*os.File, error) {
	path := c.socket()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := connect(fd, path); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// connect connects in blocking mode: a non-blocking connect(2) fails with EAGAIN
// while the backlog of the master is full, and cannot be waited for.
func connect(fd int, path string) error {
	timeout := unix.NsecToTimeval(int64(connectTimeout))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout); err != nil {
		return fmt.Errorf("%s: SO_SNDTIMEO: %w", path, err)
	}
	err := unix.EINTR
	for errors.Is(err, unix.EINTR) {
		if err = errnoOf(unix.Connect(fd, &unix.SockaddrUnix{Name: path})); err == 0 {
			return unix.SetNonblock(fd, true)
		}
	}
	if err == unix.ENOENT && path == DefaultSocket && hereIsNode() {
		return fmt.Errorf("%w (%s: %w): this is a node; its front end has one", ErrNoMaster, path, err)
	}
	switch err {
	case unix.ENOENT, unix.ECONNREFUSED:
		return fmt.Errorf("%w (%s: %w): on the front end 'systemctl start bpmaster' or bpmaster itself starts it, and 'bpctl check' says what is wrong", ErrNoMaster, path, err)
	case unix.EAGAIN:
		return fmt.Errorf("the master does not answer (%s)", path)
	}
	return fmt.Errorf("connect to the master: %s: %w", path, err)
}

// within makes operations on conn fail when ctx is done. The caller calls stop
// when it does not need that any more; the error is the reason if it has
// happened, and conn is of no use then.
func within(ctx context.Context, conn *os.File) (stop func() error) {
	if ctx.Done() == nil {
		return func() error { return nil }
	}
	cancel := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return func() error {
		if cancel() {
			return nil
		}
		return context.Cause(ctx)
	}
}

// request sends m and returns the answer.
func (c *Client) request(ctx context.Context, m wire.Message) (wire.Message, error) {
	conn, err := c.reach(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return exchangeWithin(ctx, conn, m)
}

// exchangeWithin is exchange that ends when ctx is done.
func exchangeWithin(ctx context.Context, conn *os.File, m wire.Message) (wire.Message, error) {
	return endWith(ctx, conn, func() (wire.Message, error) { return exchange(ctx, conn, m) })
}

// answerWithin is answer, but returns when ctx is done.
func answerWithin(ctx context.Context, conn *os.File) (wire.Message, error) {
	return endWith(ctx, conn, func() (wire.Message, error) { return answer(ctx, conn) })
}

// endWith waits for an answer on conn, and breaks the wait off when ctx is done.
func endWith(ctx context.Context, conn *os.File, wait func() (wire.Message, error)) (wire.Message, error) {
	stop := within(ctx, conn)
	reply, err := wait()
	if stopErr := stop(); stopErr != nil {
		return nil, stopErr
	}
	return reply, err
}

// exchange sends m on conn and returns the answer.
func exchange(ctx context.Context, conn *os.File, m wire.Message) (wire.Message, error) {
	if err := wire.Write(conn, 0, m); err != nil {
		if errors.Is(err, wire.ErrFrame) { // nothing was written, and nobody answers
			return nil, &Error{Node: FrontEnd, Stage: StageRequest, Errno: unix.E2BIG}
		}
		// A master that refuses may close before it has read all of it.
		var refused *Error
		if _, e := answer(ctx, conn); errors.As(e, &refused) {
			return nil, e
		}
		return nil, lost(ctx, err)
	}
	return answer(ctx, conn)
}

// answer reads the answer of the master. Failed and Refused are errors.
func answer(ctx context.Context, conn *os.File) (wire.Message, error) {
	return answerFrom(ctx, wire.NewReader(conn))
}

// answerFrom is answer where more follows.
func answerFrom(ctx context.Context, reader *wire.Reader) (wire.Message, error) {
	m, _, err := reader.Read()
	if err != nil {
		return nil, lost(ctx, err)
	}
	return accepted(m)
}

// accepted returns an answer, or the error that it is.
func accepted(m wire.Message) (wire.Message, error) {
	switch m := m.(type) {
	case *wire.Failed:
		return nil, &Error{Node: FrontEnd, Stage: m.Stage, Errno: unix.Errno(m.Errno), Text: m.Text}
	case *wire.Refused:
		return nil, &Error{Node: FrontEnd, Stage: wire.StageRequest, Text: "the master refused: " + m.Reason}
	}
	return m, nil
}

// ask makes a request whose answer is a T.
func ask[T wire.Message](ctx context.Context, c *Client, request wire.Message) (T, error) {
	var want T
	m, err := c.request(ctx, request)
	if err != nil {
		return want, err
	}
	got, ok := m.(T)
	if !ok {
		return want, unexpected(m)
	}
	return got, nil
}

func unexpected(m wire.Message) error {
	return fmt.Errorf("unexpected answer of type %d from the master", m.Type())
}

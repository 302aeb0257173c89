package fakemaster

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/wire"
)

// Master is a fake master.
type Master struct {
	Client client.Client                  // for this master
	Bypass func(c *Conn)                  // answers those who ask for one; nil: they are refused
	Many   func(c *Conn, m *wire.RunMany) // answers those who ask for many processes; nil: each gets a connection

	handle Handler

	mu     sync.Mutex
	cond   sync.Cond
	ghosts map[wire.PID]net.Conn // nil for a ghost that was ended
	runs   map[uint64]*wire.Run  // by Run.Launch
}

// Handler answers the request of a connection.
type Handler func(c *Conn, m wire.Message)

// Start starts a master that ends with the test. It calls handle for each connection, and closes
// the connection when handle returns.
func Start(t testing.TB, handle Handler) *Master {
	t.Helper()
	dir, err := os.MkdirTemp("", "fakemaster-") // the path of t.TempDir could be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	m := &Master{handle: handle, ghosts: map[wire.PID]net.Conn{}, runs: map[uint64]*wire.Run{}}
	m.cond.L = &m.mu
	m.Client.Socket = filepath.Join(dir, "master.sock")
	if m.Client.GhostPath, err = installGhost(dir); err != nil {
		t.Fatal(err)
	}
	clients := listen(t, m.Client.Socket, func(conn net.Conn) { m.serve(t, conn, handle) })
	ghosts := listen(t, filepath.Join(dir, ghostSocket), m.addGhost)
	t.Cleanup(func() {
		clients()
		m.mu.Lock()
		for _, g := range m.ghosts {
			if g != nil {
				g.Close()
			}
		}
		m.mu.Unlock()
		ghosts()
		_ = os.RemoveAll(dir)
	})
	return m
}

// listen serves connections until stop is called. stop waits until all calls of serve have
// returned.
func listen(t testing.TB, path string, serve func(net.Conn)) (stop func()) {
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() { serve(conn) })
		}
	})
	return func() {
		l.Close()
		group.Wait()
	}
}

func (m *Master) serve(t testing.TB, conn net.Conn, handle Handler) {
	defer conn.Close()
	r := wire.NewReader(conn)
	request, _, err := r.Read()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			t.Errorf("request: %v", err)
		}
		return
	}
	if many, ok := request.(*wire.RunMany); ok && m.Many == nil {
		m.serveMany(t, conn.(*net.UnixConn), many, len(many.Runs), handle)
		return
	}
	m.answer(t, conn.(*net.UnixConn), r, request, handle)
}

// answer answers a request, and closes its connection.
func (m *Master) answer(t testing.TB, conn *net.UnixConn, r *wire.Reader, request wire.Message, handle Handler) {
	c := &Conn{m: m, t: t, conn: conn, r: r, request: request, run: m.runOf(request)}
	bypass, _ := request.(*wire.Bypass)
	many, _ := request.(*wire.RunMany)
	switch {
	case many != nil:
		m.Many(c, many)
	case bypass != nil && m.Bypass != nil:
		m.Bypass(c)
	case bypass != nil:
		c.Send(&wire.Failed{Stage: wire.StageRequest, Errno: uint32(unix.EOPNOTSUPP)})
	default:
		handle(c, request)
	}
	conn.Close() // whoever still writes is done with it
	c.telling.Wait()
}

// runOf returns the request that started the process of a request.
func (m *Master) runOf(request wire.Message) *wire.Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r := request.(type) {
	case *wire.Run:
		m.runs[r.Launch] = r
		return r
	case *wire.Attach:
		return m.runs[r.Launch]
	}
	return nil
}

func (m *Master) addGhost(conn net.Conn) {
	var b [4]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		conn.Close()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ghosts[wire.PID(binary.LittleEndian.Uint32(b[:]))] = conn
	m.cond.Broadcast()
}

// ghostTime bounds how long a ghost takes to start. One whose client has ended it never does.
const ghostTime = 20 * time.Second

// End ends a ghost, unless it was ended before.
func (m *Master) End(pid wire.PID, status wire.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	until := time.Now().Add(ghostTime)
	defer time.AfterFunc(ghostTime, m.cond.Broadcast).Stop()
	ghost, came := m.ghosts[pid]
	for !came && time.Now().Before(until) {
		m.cond.Wait()
		ghost, came = m.ghosts[pid]
	}
	if ghost == nil {
		return
	}
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(status))
	_, _ = ghost.Write(b[:])
	ghost.Close()
	m.ghosts[pid] = nil
}

package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"bproc/internal/peer"
)

// acceptPause is the pause after a connection that could not be accepted.
const acceptPause = 50 * time.Millisecond

// Bounds on the connections of a user, on the time until a request arrives, and on the time that
// commands take to end.
const (
	mostOfUser   = 32
	requestDelay = 10 * time.Second
	endDelay     = 5 * time.Second
)

var errTooMany = fmt.Errorf("you have %d requests for jobs already", mostOfUser)

// Server is the service. Command returns the command for a user's request, without standard
// descriptors. The command calls [Enter] first.
type Server struct {
	Command func(uid uint32, r Request) (*exec.Cmd, error)

	mu   sync.Mutex
	from map[uint32]int // connections of each user
}

// Listen listens for users. It replaces a socket on which no process listens.
func Listen(socket string) (*net.UnixListener, error) {
	addr := &net.UnixAddr{Name: socket, Net: "unixpacket"}
	if conn, err := net.DialUnix("unixpacket", nil, addr); err == nil {
		conn.Close()
		return nil, fmt.Errorf("%s: another one serves it", socket)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unixpacket", addr)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Serve serves users until the context is done. Commands that still run then get SIGTERM. One that does
// not end, perhaps because a file system of its user holds it in the kernel, is left to itself, and
// so is the goroutine that waits for it.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) error {
	var tasks sync.WaitGroup
	defer waitFor(&tasks)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		conn, err := l.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // for want of memory or descriptors
			time.Sleep(acceptPause)
			continue
		}
		tasks.Go(func() {
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { _ = conn.CloseRead() })
			defer stop()
			code, err := s.serve(conn)
			a := Answer{Code: code}
			if err != nil {
				a.Error = err.Error()
			}
			_ = conn.SetWriteDeadline(time.Now().Add(requestDelay))
			_ = send(conn, a) // the client may be gone
		})
	}
}

// waitFor waits for tasks, but not for long.
func waitFor(tasks *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { tasks.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(endDelay):
	}
}

// serve serves one connection.
func (s *Server) serve(conn *net.UnixConn) (code int, err error) {
	who, err := peer.Of(conn)
	if err != nil {
		return 0, err
	}
	others, leave := s.enter(who.Uid)
	defer leave()
	if others >= 2*mostOfUser {
		return 0, errTooMany // without reading the request
	}
	if err := conn.SetReadDeadline(time.Now().Add(requestDelay)); err != nil {
		return 0, err
	}
	var r Request
	err = peek(conn, &r)
	if err == nil && others >= mostOfUser {
		err = errTooMany
	}
	var cmd *exec.Cmd
	if err == nil {
		cmd, err = s.Command(who.Uid, r)
	}
	if err != nil {
		_ = receiveText(conn, new(Request)) // so that the user gets the answer
		return 0, err
	}
	return execute(cmd, conn)
}

// enter counts a connection of a user, and returns the number of the user's other connections.
func (s *Server) enter(uid uint32) (others int, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from == nil {
		s.from = make(map[uint32]int)
	}
	s.from[uid]++
	return s.from[uid] - 1, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.from[uid]--; s.from[uid] == 0 {
			delete(s.from, uid)
		}
	}
}

// execute runs a command to its end. The command has the connection, from which it takes the
// descriptors and the signals of the user.
func execute(cmd *exec.Cmd, conn *net.UnixConn) (code int, err error) {
	f, err := conn.File()
	if err != nil {
		return 0, err
	}
	cmd.ExtraFiles, cmd.Env = []*os.File{f}, append(cmd.Environ(), connectionVariable+"=1")
	err = cmd.Start()
	f.Close()
	if err != nil {
		return 0, err
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, err
	}
	const codeSignal = 128
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return codeSignal + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}

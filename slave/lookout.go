package slave

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/internal/peer"
	"bproc/wire"
	"bproc/wire/link"
)

// lookout lets processes on this node see those of the whole cluster: it opens a stream to
// the master for each connection, says who is there, and passes on the rest.
type lookout struct {
	log    *slog.Logger
	socket string
	linked func() *link.Session // the link there is, or was last

	mu    sync.Mutex
	count map[uint32]int // connections, by user
}

// Bounds on one user's connections. Root's view has one for each node.
const (
	maxLooks     = 16
	maxRootLooks = 2048
)

// openTime is how long the opening of a stream may take.
const openTime = 10 * time.Second

// listen makes the socket. Everybody may connect; who is there, the kernel says.
func (l *lookout) listen() (*net.UnixListener, error) {
	if err := os.Remove(l.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("socket of a former daemon: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: l.socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket for those who look: %w", err)
	}
	if err := os.Chmod(l.socket, 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("socket for those who look: %w", err), listener.Close())
	}
	return listener, nil
}

// run serves until the context ends.
func (l *lookout) run(ctx context.Context) error {
	listener, err := l.listen()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	var conns errgroup.Group
	defer conns.Wait() //nolint:errcheck // the goroutines report to the log
	for {
		conn, err := listener.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			l.log.Error("somebody who looks could not be accepted", "err", err)
			time.Sleep(50 * time.Millisecond) // until descriptors are free again
			continue
		}
		conns.Go(func() error {
			defer conn.Close()
			if err := l.serve(ctx, conn); err != nil {
				l.log.Debug("a look at the cluster ended", "err", err)
			}
			return nil
		})
	}
}

// serve handles a connection to its end.
func (l *lookout) serve(ctx context.Context, conn *net.UnixConn) error {
	cred, err := peer.Of(conn)
	if err != nil {
		return err
	}
	who := &wire.Viewer{UID: cred.Uid, GID: cred.Gid}
	if !l.enter(who.UID) {
		return refuse(conn, unix.EAGAIN)
	}
	defer l.leave(who.UID)
	stream, err := l.open(ctx, who)
	if err != nil {
		return errors.Join(err, refuse(conn, unix.EHOSTDOWN))
	}
	stop := context.AfterFunc(ctx, func() { conn.Close(); stream.Close() })
	defer stop()
	var group errgroup.Group
	group.Go(func() error {
		defer stream.Close()
		_, err := io.Copy(stream, conn)
		return err
	})
	group.Go(func() error {
		defer conn.Close()
		_, err := io.Copy(conn, stream)
		return err
	})
	return group.Wait()
}

// open opens a stream for somebody.
func (l *lookout) open(ctx context.Context, who *wire.Viewer) (link.Stream, error) {
	session := l.linked()
	if session == nil {
		return nil, errors.New("the master has not been reached yet")
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	stream, err := session.Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := wire.Write(stream, 0, who); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}

func (l *lookout) enter(uid uint32) bool {
	most := maxLooks
	if uid == 0 {
		most = maxRootLooks
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == nil {
		l.count = map[uint32]int{}
	}
	if l.count[uid] >= most {
		return false
	}
	l.count[uid]++
	return true
}

func (l *lookout) leave(uid uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[uid]--; l.count[uid] == 0 {
		delete(l.count, uid)
	}
}

// refuse says why there is no answer.
func refuse(conn *net.UnixConn, errno unix.Errno) error {
	if err := conn.SetWriteDeadline(time.Now().Add(openTime)); err != nil {
		return err
	}
	return wire.Write(conn, 0, &wire.Failed{Stage: wire.StageNode, Errno: uint32(errno)})
}

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

	"bproc/internal/crowd"
	"bproc/internal/peer"
	"bproc/wire"
	"bproc/wire/link"
)

// lookout lets processes on this node see the processes of the whole cluster and start others. It
// opens a stream to the master for each connection, names the client, and relays the rest.
type lookout struct {
	log    *slog.Logger
	socket string
	linked func() *link.Session                    // the present link, or the last one
	number func(peer unix.Ucred) (wire.PID, error) // number of a process in the space
	stamp  func() uint64                           // number of the last event so far
	silent *crowd.Crowd[uint32]                    // connections without a first message, by user

	mu    sync.Mutex
	count map[visitors]int // connections
}

// visitors are the connections of a user that are bounded together: those that look, or those that
// start processes or ask for the nodes to start them on.
type visitors struct {
	uid    uint32
	starts bool
}

// Bounds on one user's connections. Root's view has one for each node.
const (
	maxLooks     = 16
	maxRootLooks = 2048
	maxStarts    = 1024
)

// Bounds on connections without a first message: their number, of all users, and their time.
const (
	maxSilent = 1024
	firstTime = 10 * time.Second
)

// openTime bounds the opening of a stream.
const openTime = 10 * time.Second

// listen makes the socket. Any user may connect; the kernel tells who it is.
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

// listenPause is the time from an attempt to make the socket to the next.
const listenPause = time.Second

// await makes the socket, as soon as that is possible; nil: the context has ended. The node's
// processes live without it, too.
func (l *lookout) await(ctx context.Context) *net.UnixListener {
	for said := false; ; said = true {
		listener, err := l.listen()
		if err == nil {
			return listener
		}
		if !said {
			l.log.Error("processes cannot see the cluster or start others", "err", err)
		}
		select {
		case <-time.After(listenPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// run serves until the context ends.
func (l *lookout) run(ctx context.Context) error {
	listener := l.await(ctx)
	if listener == nil {
		return nil
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
		cred, err := peer.Of(conn)
		if err != nil {
			l.log.Debug("a look at the cluster ended", "err", err)
			conn.Close()
			continue
		}
		spoken := l.silent.Enter(cred.Uid, func() { conn.Close() })
		conns.Go(func() error {
			defer spoken()
			defer conn.Close()
			if err := l.serve(ctx, conn, cred, spoken); err != nil {
				l.log.Debug("a look at the cluster ended", "err", err)
			}
			return nil
		})
	}
}

// serve handles a connection to its end. It calls spoken when the client has sent its first header.
func (l *lookout) serve(ctx context.Context, conn *net.UnixConn, cred unix.Ucred, spoken func()) error {
	var header [wire.HeaderSize]byte
	first, err := firstHeader(conn, header[:])
	if err != nil {
		return err
	}
	spoken()
	who := &wire.Viewer{UID: cred.Uid, GID: cred.Gid}
	starts := first.Type == wire.TypeRun || first.Type == wire.TypeAttach
	among := visitors{who.UID, starts || first.Type == wire.TypeListNodes}
	if !l.enter(among) {
		return refuse(conn, unix.EAGAIN)
	}
	defer l.leave(among)
	if starts {
		if who.PID, err = l.number(cred); err != nil {
			return errors.Join(err, refuse(conn, unix.ESRCH))
		}
		who.Event = l.stamp()
	}
	stream, err := l.open(ctx, who)
	switch {
	case err != nil && first.Type == wire.TypeAttach: // the client tries again
		return err
	case err != nil:
		return errors.Join(err, refuse(conn, unix.EHOSTDOWN))
	}
	stop := context.AfterFunc(ctx, func() { conn.Close(); stream.Close() })
	defer stop()
	var group errgroup.Group
	group.Go(func() error {
		defer stream.Close()
		if _, err := stream.Write(header[:]); err != nil {
			return err
		}
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

// open opens a stream for a client.
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

// firstHeader reads the header of a client's first message.
func firstHeader(conn *net.UnixConn, header []byte) (wire.Header, error) {
	if err := conn.SetReadDeadline(time.Now().Add(firstTime)); err != nil {
		return wire.Header{}, err
	}
	if _, err := io.ReadFull(conn, header); err != nil {
		return wire.Header{}, err
	}
	h, err := wire.ParseHeader(header)
	return h, errors.Join(err, conn.SetReadDeadline(time.Time{}))
}

func (l *lookout) enter(among visitors) bool {
	most := maxLooks
	switch {
	case among.starts:
		most = maxStarts
	case among.uid == 0:
		most = maxRootLooks
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == nil {
		l.count = map[visitors]int{}
	}
	if l.count[among] >= most {
		return false
	}
	l.count[among]++
	return true
}

func (l *lookout) leave(among visitors) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[among]--; l.count[among] == 0 {
		delete(l.count, among)
	}
}

// refuse tells a client why there is no answer.
func refuse(conn *net.UnixConn, errno unix.Errno) error {
	if err := conn.SetWriteDeadline(time.Now().Add(openTime)); err != nil {
		return err
	}
	return wire.Write(conn, 0, &wire.Failed{Stage: wire.StageNode, Errno: uint32(errno)})
}

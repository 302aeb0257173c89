package ghost

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/flock"
)

// keeperEnds is how long a keeper may take to end.
const keeperEnds = 5 * time.Second

// lockSocket makes sure that only one keeper serves a socket. Its file stays (see markOf). One duplicate of the
// descriptor is never closed, so the lock lasts as long as the process. A thread holds its ghosts until it has
// ended, a while after its shard. The kernel releases the lock when every thread has lost its memory, so a tracer
// that still has memory is not the former keeper (see former).
func lockSocket(socket string) (*os.File, error) {
	f, err := os.OpenFile(socket+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the keeper's socket: %w", err)
	}
	if err = flock.TakeWithin(f, keeperEnds); err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, flock.ErrTaken) {
			err = fmt.Errorf("another keeper serves %s already", socket)
		}
		return nil, err
	}
	return f, nil
}

// listen makes the socket for the master.
func listen(socket string) (*net.UnixListener, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("socket of a former keeper: %w", err)
	}
	old := unix.Umask(0o177) // only root may connect, from the first moment
	defer unix.Umask(old)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket of the keeper: %w", err)
	}
	return l, nil
}

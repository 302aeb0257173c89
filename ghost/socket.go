package ghost

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"bproc/internal/flock"
)

// lockSocket makes sure that only one keeper serves a socket. Its file stays (see markOf). The lock
// ends with the process and not before: a duplicate of the descriptor is never closed. A thread
// holds its ghosts until it has ended, a while after its shard. The kernel ends the lock when no
// thread has memory any more, by which the next keeper knows those that have yet to let go (former).
func lockSocket(socket string) (*os.File, error) {
	f, err := os.OpenFile(socket+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the keeper's socket: %w", err)
	}
	if err = flock.Take(f); err == nil {
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

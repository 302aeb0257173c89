package ghost

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"bproc/internal/flock"
)

// lockSocket makes sure that only one keeper serves a socket. The lock ends with the process; its
// file stays (see markOf). A killed keeper may still hold its locks and ghosts for a moment.
func lockSocket(socket string) (*os.File, error) {
	f, err := os.OpenFile(socket+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the keeper's socket: %w", err)
	}
	if err := flock.Take(f); err != nil {
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

package ghost

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockTime is how long a keeper waits for another one's end: a killed keeper may still hold its
// locks and ghosts for a moment.
const lockTime = 2 * time.Second

// lockSocket makes sure that only one keeper serves a socket. The lock ends with the process; its
// file stays (see markOf).
func lockSocket(socket string) (*os.File, error) {
	path := socket + ".lock"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the keeper's socket: %w", err)
	}
	for end := time.Now().Add(lockTime); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case time.Now().After(end):
			f.Close()
			return nil, fmt.Errorf("another keeper serves %s already", socket)
		}
	}
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

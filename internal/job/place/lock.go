package place

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Lock is a lock that is held. It is let go by Close, or by the end of this program.
type Lock struct{ file *os.File }

// Close lets the lock go.
func (l *Lock) Close() error { return l.file.Close() }

// Supervise waits until no supervisor has the process, and takes its place.
func (p Process) Supervise() (*Lock, error) { return p.lock("lock") }

// Request waits until nobody else starts or stops the process.
func (p Process) Request() (*Lock, error) { return p.lock("request") }

func whole(kind int16) *unix.Flock_t { return &unix.Flock_t{Type: kind, Whence: io.SeekStart} }

func (p Process) lock(suffix string) (*Lock, error) {
	if err := os.MkdirAll(p.runDir(), 0o755); err != nil {
		return nil, fmt.Errorf("lock of process %v: %w", p, err)
	}
	f, err := openLock(p.file(suffix))
	if err == nil {
		err = take(f, unix.F_OFD_SETLKW, unix.F_WRLCK)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock of process %v: %w", p, err)
	}
	return &Lock{f}, nil
}

// openLock opens a lock, or makes it. It is root's alone: whoever can open it can lock it for reading, and keep all others waiting.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		err = f.Chmod(0o600) // that of another version
	}
	return f, err
}

// take takes a lock of a kind, or changes that which f has, by one of the commands of fcntl(2).
func take(f *os.File, command int, kind int16) error {
	for {
		err := unix.FcntlFlock(f.Fd(), command, whole(kind))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Supervised reports whether the process has a supervisor. To users who may not look at the lock, the
// record says who that is.
func (p Process) Supervised() (bool, error) {
	f, err := os.Open(p.file("lock"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case errors.Is(err, os.ErrPermission):
		r, err := p.read(true)
		return r.Supervisor != 0 && r.Born != 0 && Born(r.Supervisor) == r.Born, err
	case err != nil:
		return false, fmt.Errorf("lock of process %v: %w", p, err)
	}
	defer f.Close()
	lock := whole(unix.F_RDLCK)
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, lock); err != nil {
		return false, fmt.Errorf("lock of process %v: %w", p, err)
	}
	return lock.Type != unix.F_UNLCK, nil
}

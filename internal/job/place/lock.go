package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Lock is a held lock. It is released by Close or at the end of this program.
type Lock struct{ file *os.File }

// Close releases the lock.
func (l *Lock) Close() error { return l.file.Close() }

// Supervise waits until the process has no supervisor, and becomes its supervisor.
func (p Process) Supervise() (*Lock, error) { return p.lock("lock", unix.F_OFD_SETLKW) }

// File returns the open file that holds the lock: a program that inherits it holds the lock as well.
func (l *Lock) File() *os.File { return l.file }

// Inherit returns the lock of the process's supervisor, which has inherited it as an open file.
func (p Process) Inherit(f *os.File) (*Lock, error) {
	err := take(f, unix.F_OFD_SETLK, unix.F_WRLCK) // no change for who holds it
	var is, want unix.Stat_t
	if err == nil {
		err = errors.Join(unix.Fstat(int(f.Fd()), &is), unix.Stat(p.file("lock"), &want))
	}
	if err == nil && (is.Dev != want.Dev || is.Ino != want.Ino) {
		err = errors.New("another file was inherited")
	}
	if err != nil {
		return nil, fmt.Errorf("lock of process %v: %w", p, err)
	}
	return &Lock{f}, nil
}

// Request waits until no other request for the process is under way.
func (p Process) Request() (*Lock, error) { return p.lock("request", unix.F_OFD_SETLKW) }

// TryRequest is Request without waiting. It returns EAGAIN if there is another request.
func (p Process) TryRequest() (*Lock, error) { return p.lock("request", unix.F_OFD_SETLK) }

func whole(kind int16) *unix.Flock_t { return &unix.Flock_t{Type: kind, Whence: io.SeekStart} }

func (p Process) lock(suffix string, command int) (*Lock, error) {
	if err := os.MkdirAll(p.runDir(), 0o755); err != nil {
		return nil, fmt.Errorf("lock of process %v: %w", p, err)
	}
	f, err := openLock(p.file(suffix))
	if err == nil {
		err = take(f, command, unix.F_WRLCK)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock of process %v: %w", p, err)
	}
	return &Lock{f}, nil
}

// openLock opens or makes a lock file. Only root may open it: a user who can open it could take a
// read lock and block all others.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		err = f.Chmod(0o600) // a file made by another version
	}
	return f, err
}

// take takes a lock, or changes the lock of f, by a command of fcntl(2).
func take(f *os.File, command int, kind int16) error {
	for {
		err := unix.FcntlFlock(f.Fd(), command, whole(kind))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// takeTurn waits for a lock until the context is done: the one who has it may wait for a node for hours.
func takeTurn(ctx context.Context, f *os.File) error {
	const longest = 100 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		err := take(f, unix.F_OFD_SETLK, unix.F_WRLCK)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Supervised reports whether the process has a supervisor. For users who may not open the lock
// file, the record names the supervisor.
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

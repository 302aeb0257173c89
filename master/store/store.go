package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// File is the name of the store in its directory.
const File = "state"

// Store is an open store.
type Store struct {
	path string
	dir  *os.File // its lock is the store's

	mu     sync.Mutex
	tables tables // never changed, but replaced
}

// DamagedError says that a store cannot be read.
type DamagedError struct {
	Path  string
	Cause error
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: %v; restore it from a backup, or move it away: then every node must join anew", e.Path, e.Cause)
}

// Unwrap returns what is wrong with it.
func (e *DamagedError) Unwrap() error { return e.Cause }

// Open opens the store in a directory that only its owner may enter. If there is none,
// it makes an empty one.
func Open(dir string, log *slog.Logger) (*Store, error) {
	d, err := openSecret(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	s := &Store{path: filepath.Join(dir, File), dir: d}
	if err := s.load(log); err != nil {
		d.Close()
		return nil, err
	}
	return s, nil
}

// load reads the file, or makes it.
func (s *Store) load(log *slog.Logger) (err error) {
	if err := lock(s.dir); err != nil {
		return err
	}
	s.tables, err = s.read()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := refuseEarlier(s.dir.Name()); err != nil {
		return err
	}
	log.Info("there is no state of a former master; a new one begins", "path", s.path)
	s.tables = tables{}
	if err := s.write(s.tables); err != nil {
		return fmt.Errorf("make %s: %w", s.path, err)
	}
	return nil
}

// Close ends the use of the store.
func (s *Store) Close() error { return s.dir.Close() }

// lockTime is how long Open waits for another master to end. A master that was just
// killed may have left its descriptor to a child that has not executed yet.
const lockTime = 100 * time.Millisecond

// lock makes sure that nobody else has the store. The lock ends with the process,
// however it ends.
func lock(dir *os.File) error {
	for deadline := time.Now().Add(lockTime); ; time.Sleep(lockTime / 10) {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", dir.Name(), err)
		case time.Now().After(deadline):
			return fmt.Errorf("another master has the state in %s", dir.Name())
		}
	}
}

// openSecret opens a directory that only its owner may enter.
func openSecret(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s has mode %04o: others may enter it", path, info.Mode().Perm())
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

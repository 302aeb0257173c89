package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// File is the name of the store in its directory.
const File = "state.db"

// Store is an open store.
type Store struct {
	db   *bbolt.DB
	path string
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
	if err := secret(dir); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	path := filepath.Join(dir, File)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		log.Info("there is no state of a former master; a new one begins", "path", path)
		if err := create(path); err != nil {
			return nil, fmt.Errorf("make %s: %w", path, err)
		}
		f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	s, err := open(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

// open locks and checks a file, and only then shows it to bbolt.
func open(f *os.File) (*Store, error) {
	path := f.Name()
	if err := lock(f); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	tables, err := readImage(f, info.Size())
	if err == nil {
		err = checkSeal(tables)
	}
	if err != nil {
		return nil, &DamagedError{path, err}
	}
	if format := string(tables[ownTable][formatKey]); format != currentFormat {
		return nil, fmt.Errorf("%s has format %q, and this master knows %q; it is of another version", path, format, currentFormat)
	}
	for _, name := range []string{Authority, Tokens, Nodes} {
		if tables[name] == nil {
			return nil, &DamagedError{path, fmt.Errorf("there is no table %s", name)}
		}
	}
	// The same open file, and so the same lock: flock(2).
	db, err := bbolt.Open(path, 0, options(func(string, int, os.FileMode) (*os.File, error) { return f, nil }))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	sweep(path)
	if tables[Leases] == nil { // earlier masters kept none
		make := func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte(Leases)); return err }
		if err := db.Update(make); err != nil {
			return nil, errors.Join(fmt.Errorf("leases of %s: %w", path, err), db.Close())
		}
	}
	return &Store{db: db, path: path}, nil
}

// options are those that image.go relies on: pages of one size on all machines, and
// no list of free pages, which would be one more thing to be damaged. bbolt makes
// it anew from the pages in use.
func options(openFile func(string, int, os.FileMode) (*os.File, error)) *bbolt.Options {
	return &bbolt.Options{PageSize: pageSize, NoFreelistSync: true, NoStatistics: true, Timeout: lockTime, OpenFile: openFile}
}

// Close ends the use of the store.
func (s *Store) Close() error { return s.db.Close() }

// lockTime is how long Open waits for another master to end. A master that was just
// killed may have left its descriptor to a child that has not executed yet.
const lockTime = 100 * time.Millisecond

// lock makes sure that nobody else has the store. The lock ends with the process,
// however it ends.
func lock(f *os.File) error {
	for deadline := time.Now().Add(lockTime); ; time.Sleep(lockTime / 10) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		case time.Now().After(deadline):
			return fmt.Errorf("another master has the state in %s", filepath.Dir(f.Name()))
		}
	}
}

// secret checks that only its owner may enter a directory.
func secret(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o: others may enter it", dir, fi.Mode().Perm())
	}
	return nil
}

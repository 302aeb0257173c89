package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"bproc/internal/flock"
)

// File is the name of the store in its directory.
const File = "state"

// Store is an open store.
type Store struct {
	path string
	dir  *os.File // its lock is the store's
	log  *slog.Logger

	// For the goroutine that writes. Taken before mu.
	writing sync.Mutex
	file    *os.File          // nil: the next change rewrites it
	end     int64             // of its contents
	changed bool              // the file contains changes
	enough  int64             // a longer file is rewritten
	sum     [sha256.Size]byte // of its last change, or of the tables

	mu     sync.Mutex
	tables tables // changed by the goroutine that writes
	next   *batch // changes that were begun and are not being written yet; nil: none
}

// batch is a set of changes that go to disk together.
type batch struct {
	changes []change
	done    bool
	err     error
}

// begin adds a change to the next batch.
func (s *Store) begin(c change) *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = new(batch)
	}
	s.next.changes = append(s.next.changes, c)
	return s.next
}

// finish returns when changes are on disk, or have failed. The first caller writes them.
func (s *Store) finish(b *batch) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if b.done {
		return b.err
	}
	s.take()
	b.done, b.err = true, s.write(b.changes)
	if b.err == nil {
		s.made(b.changes)
		s.shorten()
	}
	return b.err
}

// take closes the batch that collects changes.
func (s *Store) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
}

// made enters changes that are on disk.
func (s *Store) made(changes []change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		s.tables.apply(c)
	}
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

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }

// Open opens the store in a directory that only its owner may enter. If there is none,
// it makes an empty one.
func Open(dir string, log *slog.Logger) (*Store, error) {
	d, err := openSecret(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	s := &Store{path: filepath.Join(dir, File), dir: d, log: log}
	if err := s.load(); err != nil {
		s.close()
		d.Close()
		return nil, err
	}
	return s, nil
}

// load reads the file, or makes it.
func (s *Store) load() error {
	if err := lock(s.dir); err != nil {
		return err
	}
	if err := s.read(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := refuseEarlier(s.dir.Name()); err != nil {
		return err
	}
	s.log.Info("there is no state of a former master; a new one begins", "path", s.path)
	s.tables = tables{}
	if err := s.rewrite(s.tables); err != nil {
		return fmt.Errorf("make %s: %w", s.path, err)
	}
	return nil
}

// Close writes the changes that were begun, and ends the use of the store. If possible, it leaves a
// file without changes.
func (s *Store) Close() error {
	err := s.finish(s.begun())
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.enough = 0; s.changed {
		s.shorten()
	}
	s.close()
	return errors.Join(err, s.dir.Close())
}

// begun returns the changes that are not being written yet.
func (s *Store) begun() *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		return &batch{done: true}
	}
	return s.next
}

// lock makes sure that nobody else has the store.
func lock(dir *os.File) error {
	err := flock.Take(dir)
	if errors.Is(err, flock.ErrTaken) {
		return fmt.Errorf("another master has the state in %s", dir.Name())
	}
	return err
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

package place

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// Rotation says when a new log is begun. The zero value means never.
type Rotation struct {
	MaxSize uint64 // bytes of a file; 0: no limit
	Keep    uint64 // former files to keep, at least 1; LOG.1 is the newest
}

// Log is an open log, to which lines are appended. A new file begins between two lines, before the
// current one exceeds MaxSize bytes. Only the rest of a line whose first part was written before may
// exceed them. A longer line has a file of its own, and a line of twice that length is cut. If a new
// file cannot be begun, writing to the current one goes on. Only one goroutine may write.
type Log struct {
	Rotation
	path     string
	uid, gid int
	file     *os.File
	size     uint64
	within   bool // in a line whose end was not written yet
}

// OpenRotated is [OpenLog] for a rotated log.
func OpenRotated(path string, uid, gid int, r Rotation) (*Log, error) {
	l := &Log{Rotation: r, path: path, uid: uid, gid: gid}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// Close closes the log.
func (l *Log) Close() error { return l.file.Close() }

func (l *Log) open() error {
	f, err := OpenLog(l.path, l.uid, l.gid)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("log: %w", err)
	}
	if l.file != nil {
		_ = l.file.Close() // all data is already with the kernel
	}
	l.file, l.size = f, uint64(info.Size())
	return nil
}

// Write appends to the log. It writes all of p even if a new file cannot be begun, which it returns
// as an error.
func (l *Log) Write(p []byte) (int, error) {
	var failed error
	for rest := p; len(rest) > 0; {
		n, full := l.fits(rest)
		if failed != nil {
			n, full = len(rest), false
		}
		if err := l.append(rest[:n]); err != nil {
			return len(p) - len(rest), err
		}
		rest = rest[n:]
		if full {
			failed = l.rotate()
		}
	}
	return len(p), failed
}

func (l *Log) append(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	n, err := l.file.Write(p)
	l.size += uint64(n)
	l.within = p[len(p)-1] != '\n'
	return err
}

// fits returns how much of p belongs to the current file, and whether a new file begins after that.
func (l *Log) fits(p []byte) (n int, full bool) {
	if l.MaxSize == 0 || l.size+uint64(len(p)) <= l.MaxSize {
		return len(p), false
	}
	if l.size < l.MaxSize {
		n = bytes.LastIndexByte(p[:l.MaxSize-l.size], '\n') + 1
	}
	switch {
	case n > 0:
		return n, true
	case l.size > 0 && !l.within:
		return 0, true
	}
	n = bytes.IndexByte(p, '\n') + 1
	whole := n > 0
	if !whole {
		n = len(p)
	}
	if most := 2 * l.MaxSize; l.size+uint64(n) >= most {
		return int(max(most, l.size+1) - l.size), true
	}
	return n, whole
}

// rotate begins a new file.
func (l *Log) rotate() error {
	former := func(i uint64) string { return fmt.Sprintf("%s.%d", l.path, i) }
	last := uint64(1) // the last one is overwritten or missing; after a gap, older ones stay
	for last < l.Keep && exists(former(last)) {
		last++
	}
	var err error
	for i := last; i > 1 && err == nil; i-- {
		err = os.Rename(former(i-1), former(i))
	}
	if err == nil {
		err = os.Rename(l.path, former(1))
	}
	if err == nil || errors.Is(err, os.ErrNotExist) { // somebody has removed the log
		err = l.open()
	}
	if err != nil {
		return fmt.Errorf("begin log %s anew: %w", l.path, err)
	}
	for i := l.Keep + 1; exists(former(i)); i++ { // Keep was reduced
		if err := os.Remove(former(i)); err != nil {
			return fmt.Errorf("remove a former log: %w", err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

package source

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// writeError is an error of the writer. Nothing more can be sent after it.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// file sends a regular file.
func (w *walk) file(dir int, at, path string, e *stream.Entry, follow bool) error {
	var st unix.Stat_t
	st.Mode = unix.S_IFREG
	fd, err := open(dir, at, &st, follow)
	if err != nil {
		w.Problem(path, err)
		return nil
	}
	defer unix.Close(fd)
	e.Mode, e.UID, e.GID, e.Size = st.Mode&0o7777, st.Uid, st.Gid, st.Size
	e.Mtime, e.Atime, e.Dev, e.Ino = stamp(st.Mtim), stamp(st.Atim), st.Dev, st.Ino
	w.linked(e, &st)
	if e.Kind == stream.HardLink {
		return w.send(path, e)
	}
	if e.Xattrs, err = w.xattrs(fd); err != nil {
		w.Problem(path, err)
	}
	if err := w.to.Entry(e); errors.Is(err, stream.ErrStream) {
		w.Problem(path, err)
		delete(w.links, Identity{e.Dev, e.Ino})
		return nil
	} else if err != nil {
		return err
	}
	size, err := w.contents(fd, &st)
	var writing writeError
	if errors.As(err, &writing) {
		return writing.error
	}
	if err != nil {
		w.Problem(path, err)
		delete(w.links, Identity{e.Dev, e.Ino})
	}
	return w.to.Close(size, err == nil)
}

// contents sends the contents of a file, and returns its size.
func (w *walk) contents(fd int, st *unix.Stat_t) (int64, error) {
	const block = 512 // of st_blocks (stat(2))
	if st.Size == 0 || st.Blocks*block >= st.Size {
		return w.bytes(fd, 0, unknown)
	}
	end := int64(0)
	for {
		from, err := unix.Seek(fd, end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return max(end, st.Size), nil // the rest is a hole, if anything
		}
		if err != nil && end == 0 { // the file system does not support holes
			return w.bytes(fd, 0, unknown)
		}
		if err != nil {
			return end, err
		}
		hole, err := unix.Seek(fd, from, unix.SEEK_HOLE)
		if err != nil {
			return end, err
		}
		if end, err = w.bytes(fd, from, hole); err != nil || end < hole { // it was truncated
			return end, err
		}
	}
}

// unknown as an end means the end of the file. The size of some files does not tell where that is
// (proc(5)), and other files grow.
const unknown = int64(-1)

// bytes sends the bytes between two offsets, and returns the offset at which it ended.
func (w *walk) bytes(fd int, from, to int64) (int64, error) {
	for from != to {
		if err := context.Cause(w.ctx); err != nil {
			return from, writeError{err}
		}
		buf := w.data
		if to != unknown {
			buf = buf[:min(int64(len(buf)), to-from)]
		}
		n, err := ignoringEINTR(func() (int, error) { return unix.Pread(fd, buf, from) })
		if errors.Is(err, unix.ESPIPE) {
			n, err = ignoringEINTR(func() (int, error) { return unix.Read(fd, buf) })
		}
		if n == 0 && err == nil {
			err = io.EOF
		}
		if errors.Is(err, io.EOF) {
			return from, nil
		}
		if err != nil {
			return from, err
		}
		if err := w.to.Data(from, buf[:n]); err != nil {
			return from, writeError{err}
		}
		from += int64(n)
	}
	return from, nil
}

func stamp(t unix.Timespec) time.Time { return time.Unix(t.Unix()) }

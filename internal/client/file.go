package client

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// File is a standard descriptor of a command. Reads and writes wait also if another process has
// made it non-blocking: that mode belongs to the open file description, which both have (open(2)).
type File struct{ file *os.File }

// NewFile returns a standard descriptor.
func NewFile(f *os.File) File { return File{f} }

// FileOf returns the file that a stream is; false: it is none.
func FileOf(stream any) (*os.File, bool) {
	switch f := stream.(type) {
	case File:
		return f.file, true
	case *os.File:
		return f, f != nil
	}
	return nil, false
}

// Read implements [io.Reader].
func (f File) Read(b []byte) (int, error) {
	for {
		n, err := f.file.Read(b)
		if !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
		f.wait(unix.POLLIN)
	}
}

// Write implements [io.Writer].
func (f File) Write(b []byte) (int, error) {
	written := 0
	for {
		n, err := f.file.Write(b[written:])
		written += n
		if !errors.Is(err, unix.EAGAIN) {
			return written, err
		}
		f.wait(unix.POLLOUT)
	}
}

// wait waits until the file can be read or written. What fails there fails again there.
func (f File) wait(events int16) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(f.file.Fd()), Events: events}}, -1)
}

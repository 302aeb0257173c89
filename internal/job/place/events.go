package place

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// MaxEvents is the size in bytes of a log of events after which the next one is begun. One former log
// is kept, as LOG.1.
const MaxEvents = 16 << 20

// Events is the log of events of a job, to which the supervisors of all its processes append.
type Events struct {
	Path     string
	UID, GID int
}

// Append appends a line to the log, or only makes the log if the line is empty.
func (e Events) Append(line []byte) error {
	f, err := OpenLog(e.Path, e.UID, e.GID)
	if err != nil {
		return err
	}
	defer f.Close() // all data is already with the kernel
	if _, err := f.Write(line); err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > MaxEvents {
		err = e.rotate(f, info)
	}
	if err != nil {
		return fmt.Errorf("log of events: %w", err)
	}
	return nil
}

// rotate makes a log the former one, unless another supervisor does that. One that has opened it
// before still appends to it.
func (e Events) rotate(f *os.File, is os.FileInfo) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) { // by another supervisor, or by the user, who may have it
		return nil
	}
	if err != nil {
		return err
	}
	now, err := os.Lstat(e.Path)
	switch {
	case errors.Is(err, os.ErrNotExist): // another supervisor has just done it
		return nil
	case err != nil || !os.SameFile(now, is):
		return err
	}
	return os.Rename(e.Path, e.Path+".1")
}

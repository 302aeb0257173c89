package target

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/source"
	"bproc/internal/copy/stream"
)

// Options say where the copies are to be, and what of the originals they keep.
type Options struct {
	Path     string // a directory, or the name of the copy
	Many     bool   // there are several originals, so it is a directory
	Preserve bool   // times, modes, owners, extended attributes

	// Names and Recursive are what was asked for: the machine that sends the stream may be hostile.
	Names     []string // the names of originals; nil: any
	Recursive bool     // they may be other than regular files

	// SameMachine says that the stream comes from this machine: no file is copied onto itself.
	SameMachine bool

	Problem func(path string, err error) // is told what could not be made
	Written func(bytes int64)            // is told the progress; may be nil
}

// Target is where copies are made.
type Target struct {
	Options
	dir    int    // the directory
	prefix string // its name, for messages
	rename string // of the one original; empty: it keeps its name
	isDir  bool   // Path ends as a directory does, though there is none yet
	umask  uint32
	proc   bool // there is /proc/self/fd
	tmp    temporary
}

// Open returns the target. The error says what is wrong with Path.
func Open(o Options) (*Target, error) {
	t := &Target{Options: o, umask: umask(), proc: unix.Access("/proc/self/fd", unix.F_OK) == nil}
	if o.Path == "" {
		return nil, unix.ENOENT
	}
	var st unix.Stat_t
	err := unix.Stat(o.Path, &st)
	isDir := err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case isDir:
		t.prefix = o.Path
	case err != nil && !errors.Is(err, unix.ENOENT):
		return nil, err
	case err == nil && (o.Many || o.Path[len(o.Path)-1] == '/'):
		return nil, unix.ENOTDIR
	case o.Many:
		return nil, errors.New("no such directory; several files are to be copied to it")
	default:
		clean := filepath.Clean(o.Path)
		t.prefix, t.rename = filepath.Dir(clean), filepath.Base(clean)
		t.isDir = o.Path[len(o.Path)-1] == '/'
		if t.rename == ".." || t.rename == "." || t.rename == "/" {
			return nil, unix.ENOENT
		}
	}
	t.dir, err = ignoringEINTR(func() (int, error) {
		return unix.Open(t.prefix, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.prefix, err)
	}
	return t, nil
}

// Close lets go of the target.
func (t *Target) Close() { unix.Close(t.dir) }

// Inside returns the directory and all that it is in.
func (t *Target) Inside() (list []source.Identity) {
	dir, err := unix.Dup(t.dir)
	for err == nil {
		var st unix.Stat_t
		if err = unix.Fstat(dir, &st); err != nil {
			break
		}
		id := source.Identity{Dev: st.Dev, Ino: st.Ino}
		if len(list) > 0 && list[len(list)-1] == id || len(list) > stream.MaxDepth {
			break // the root is in itself
		}
		list = append(list, id)
		child := dir
		dir, err = unix.Openat(child, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(child)
	}
	if err == nil {
		unix.Close(dir)
	}
	return list
}

// umask returns that of this process. It can only be read by setting it, so from /proc where
// that is possible: other goroutines may be creating files.
func umask() uint32 {
	if mask, err := procUmask(); err == nil {
		return mask
	}
	mask := unix.Umask(0o077)
	unix.Umask(mask)
	return uint32(mask)
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

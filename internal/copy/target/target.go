package target

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/source"
	"bproc/internal/copy/stream"
)

// Options describe the place of the copies, and the attributes that they keep.
type Options struct {
	Path     string // an existing directory, or the name of the copy
	Many     bool   // there are several originals, so Path must be a directory
	Preserve bool   // times, modes, owners, extended attributes

	// Names and Recursive limit the copies to the requested ones: the sending machine may be
	// hostile.
	Names     []string // allowed names of originals; nil: any
	Recursive bool     // allow files other than regular files

	// SameMachine says that the stream comes from this machine: a file must not be copied onto
	// itself.
	SameMachine bool

	Problem func(path string, err error) // is called for files that could not be made
	Written func(bytes int64)            // is called with the progress; may be nil
}

// Target is the place of the copies.
type Target struct {
	Options
	dir    int    // the directory
	prefix string // name of the directory, for messages
	rename string // name of the only copy; empty: that of the original
	isDir  bool   // Path ends with a slash, but does not exist
	umask  uint32
	proc   bool // /proc/self/fd exists
	tmp    temporary
}

// Open opens the target. The error explains what is wrong with Path.
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
		t.prefix, t.rename = split(o.Path)
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

// split returns the directory of a path, and the name in it. It leaves ".." to the kernel: behind a
// symbolic link it is another directory than the text says.
func split(path string) (dir, name string) {
	path = strings.TrimRight(path, "/")
	dir, name = filepath.Split(path)
	if dir == "" {
		return ".", name
	}
	if short := strings.TrimRight(dir, "/"); short != "" {
		return short, name
	}
	return "/", name
}

// Close closes the target.
func (t *Target) Close() { unix.Close(t.dir) }

// Inside returns the directory and all its parents.
func (t *Target) Inside() (list []source.Identity) {
	dir, err := unix.Dup(t.dir)
	for err == nil {
		var st unix.Stat_t
		if err = unix.Fstat(dir, &st); err != nil {
			break
		}
		id := source.Identity{Dev: st.Dev, Ino: st.Ino}
		if len(list) > 0 && list[len(list)-1] == id || len(list) > stream.MaxDepth {
			break // the parent of the root is the root
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

// umask returns the umask of this process. A read by umask(2) also sets it, which would affect
// files that other goroutines create, so umask reads /proc if possible.
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

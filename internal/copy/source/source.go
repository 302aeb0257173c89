package source

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// Source describes the files to send.
type Source struct {
	Paths     []string
	Names     []string // names of the copies, see [Name]
	Recursive bool     // send directories too, and all files as what they are
	Xattrs    bool     // send extended attributes

	// Problem is called for files that could not be read.
	Problem func(path string, err error)

	// Below lists the directories of this machine that will contain the copies, with all their
	// parents. A directory in this list would be copied into itself.
	Below []Identity
}

// Identity identifies a file of a machine.
type Identity struct{ Dev, Ino uint64 }

// walk is one pass over a source.
type walk struct {
	*Source
	ctx   context.Context
	to    *stream.Writer
	links map[Identity]sent // files with several names
	last  uint64
	data  []byte
}

// Send writes the stream. The error is the writer's, or the cause of ctx.
func (s *Source) Send(ctx context.Context, to *stream.Writer) error {
	w := &walk{Source: s, ctx: ctx, to: to, links: map[Identity]sent{}, data: make([]byte, stream.MaxData)}
	for i, path := range s.Paths {
		if err := w.operand(path, s.Names[i]); err != nil {
			return err
		}
	}
	return to.End()
}

// operand sends one of the paths under a name.
func (w *walk) operand(path, name string) error {
	var st unix.Stat_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if !w.Recursive || path[len(path)-1] == '/' {
		flags = 0
	}
	if err := unix.Fstatat(unix.AT_FDCWD, path, &st, flags); err != nil {
		w.Problem(path, err)
		return nil
	}
	if format := st.Mode & unix.S_IFMT; !w.Recursive && format != unix.S_IFREG {
		err := errors.New("is not a regular file (-r copies it as what it is)")
		if format == unix.S_IFDIR {
			err = errors.New("is a directory (-r copies it)")
		}
		w.Problem(path, err)
		return nil
	}
	return w.entry(unix.AT_FDCWD, path, path, name, &st, flags == 0)
}

// Name returns the name of the copy of a path. A relative path begins in dir, which is absolute.
// The name [stream.Here] means that the contents of a directory are copied to the target itself.
// With a suffix, such a directory keeps its own name.
func Name(dir, path, suffix string) string {
	name := filepath.Base(path)
	if name != "." && name != ".." && name != "/" {
		return name + suffix
	}
	if suffix == "" {
		return stream.Here
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if name = filepath.Base(filepath.Clean(path)); name == "/" {
		name = "root"
	}
	return name + suffix
}

// entry sends the file at the path at in dir. path is its name for messages.
func (w *walk) entry(dir int, at, path, name string, st *unix.Stat_t, follow bool) error {
	e := stream.Entry{
		Name: name, Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid, Dev: st.Dev, Ino: st.Ino,
		Mtime: stamp(st.Mtim), Atime: stamp(st.Atim),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Kind = stream.File
		return w.file(dir, at, path, &e, follow)
	case unix.S_IFDIR:
		e.Kind = stream.Directory
		return w.directory(dir, at, path, &e, follow)
	case unix.S_IFLNK:
		e.Kind = stream.Symlink
		target, err := readlink(dir, at)
		if err != nil {
			w.Problem(path, err)
			return nil
		}
		e.Target = target
	case unix.S_IFIFO:
		e.Kind = stream.FIFO
	case unix.S_IFSOCK:
		e.Kind = stream.Socket
	case unix.S_IFCHR:
		e.Kind, e.Device = stream.CharDevice, st.Rdev
	case unix.S_IFBLK:
		e.Kind, e.Device = stream.BlockDevice, st.Rdev
	}
	w.linked(&e, st)
	return w.send(path, &e)
}

// sent is a file that was sent, and may come again by another name. The time and the size tell it from
// a new file that has got its inode number meanwhile.
type sent struct {
	number uint64
	size   int64
	mtime  unix.Timespec
}

// linked makes e a hard link if the same file was sent before. Otherwise it gives e a number if the
// file has other names, which may follow.
func (w *walk) linked(e *stream.Entry, st *unix.Stat_t) {
	if st.Nlink < 2 {
		return
	}
	id := Identity{e.Dev, e.Ino}
	if before := w.links[id]; before.number != 0 && before.size == st.Size && before.mtime == st.Mtim {
		e.Kind, e.Link, e.Target, e.Size = stream.HardLink, before.number, "", 0
		return
	}
	w.last++
	w.links[id], e.Link = sent{w.last, st.Size, st.Mtim}, w.last
}

// send sends an entry, and reports one that cannot be sent.
func (w *walk) send(path string, e *stream.Entry) error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	err := w.to.Entry(e)
	if errors.Is(err, stream.ErrStream) {
		w.Problem(path, err)
		delete(w.links, Identity{e.Dev, e.Ino})
		return nil
	}
	return err
}

// readlink returns the target of a symbolic link.
func readlink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// open opens a file for reading, and checks that it still has the file type of st: opening must not
// block on a FIFO that has replaced the file.
func open(dir int, name string, st *unix.Stat_t, follow bool) (int, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	format := st.Mode & unix.S_IFMT
	if format == unix.S_IFDIR {
		flags |= unix.O_DIRECTORY
	}
	fd, err := ignoringEINTR(func() (int, error) { return unix.Openat(dir, name, flags, 0) })
	if errors.Is(err, unix.EAGAIN) && format == unix.S_IFREG {
		fd, err = openLeased(dir, name, flags)
	}
	if err != nil {
		return -1, err
	}
	if err = unix.Fstat(fd, st); err == nil && st.Mode&unix.S_IFMT != format {
		err = errors.New("was replaced while it was copied")
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openLeased opens a regular file on which somebody has a lease, and waits for its end (fcntl(2),
// F_SETLEASE).
func openLeased(dir int, name string, flags int) (int, error) {
	place, err := ignoringEINTR(func() (int, error) {
		return unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|flags&unix.O_NOFOLLOW, 0)
	})
	if err != nil {
		return -1, err
	}
	defer unix.Close(place)
	var st unix.Stat_t
	if err := unix.Fstat(place, &st); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG { // opening another kind could take for ever
		return -1, unix.EAGAIN
	}
	return ignoringEINTR(func() (int, error) {
		return unix.Open(fmt.Sprintf("/proc/self/fd/%d", place), flags&^(unix.O_NONBLOCK|unix.O_NOFOLLOW), 0)
	})
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

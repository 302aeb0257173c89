package source

import (
	"errors"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// directory sends a directory with all its contents.
func (w *walk) directory(dir int, at, path string, e *stream.Entry, follow bool) error {
	if slices.Contains(w.Below, Identity{e.Dev, e.Ino}) {
		w.Problem(path, errors.New("cannot be copied into itself"))
		return nil
	}
	var st unix.Stat_t
	st.Mode = unix.S_IFDIR
	fd, err := open(dir, at, &st, follow)
	if err != nil {
		w.Problem(path, err)
		return nil
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	e.Mode, e.UID, e.GID = st.Mode&0o7777, st.Uid, st.Gid
	e.Mtime, e.Atime = stamp(st.Mtim), stamp(st.Atim)
	if e.Xattrs, err = w.xattrs(fd); err != nil {
		w.Problem(path, err)
	}
	if err := w.to.Entry(e); errors.Is(err, stream.ErrStream) {
		w.Problem(path, err)
		return nil
	} else if err != nil {
		return err
	}
	const batch = 1024 // names to read at once
	for {
		names, err := f.Readdirnames(batch)
		for _, name := range names {
			if err := w.child(fd, path, name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return w.to.Leave()
		}
		if err != nil {
			w.Problem(path, err)
			return w.to.Leave()
		}
	}
}

// child sends an entry of a directory.
func (w *walk) child(dir int, parent, name string) error {
	path := join(parent, name)
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.ENOENT) {
		return nil // it was removed meanwhile
	} else if err != nil {
		w.Problem(path, err)
		return nil
	}
	return w.entry(dir, name, path, name, &st, false)
}

func join(parent, name string) string {
	if parent[len(parent)-1] == '/' {
		return parent + name
	}
	return parent + "/" + name
}

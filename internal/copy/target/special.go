package target

import (
	"errors"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// special makes files other than regular files and directories.
func (r *reception) special(p place, e *stream.Entry) error {
	at := func(name string) error {
		if e.Kind == stream.Symlink {
			return unix.Symlinkat(e.Target, p.dir.fd, name)
		}
		// Without -p as in mkfifo(1): the umask applies.
		return unix.Mknodat(p.dir.fd, name, format(e.Kind)|e.Mode&0o777, int(e.Device))
	}
	return r.put(p, e, at, func(name string) error { return r.preserveSpecial(p, name, e) })
}

// hardLink makes another name for an earlier file.
func (r *reception) hardLink(p place, e *stream.Entry) error {
	o, ok := r.links[e.Link]
	if !ok {
		return errors.New("is a hard link to a file that could not be copied")
	}
	dir, err := r.below(o.dir)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	at := func(name string) error { return unix.Linkat(dir, o.name, p.dir.fd, name, 0) }
	return r.put(p, e, at, func(name string) error {
		var st unix.Stat_t
		if err := unix.Fstatat(p.dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		if st.Dev != o.dev || st.Ino != o.ino {
			return errors.New("is a hard link to a file that was replaced meanwhile")
		}
		return nil
	})
}

// below opens a directory by its path in the target's directory.
func (r *reception) below(path string) (int, error) {
	if path == "" {
		path = "."
	}
	return ignoringEINTR(func() (int, error) {
		return unix.Openat2(r.dir, path, &unix.OpenHow{
			Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
		})
	})
}

// put makes a file by makeAt under a temporary name, completes it, and then renames it to its
// place.
func (r *reception) put(p place, e *stream.Entry, makeAt, complete func(name string) error) error {
	if err := r.notItself(p, e); err != nil {
		return err
	}
	if _, err := r.replaceable(p, e); err != nil {
		return err
	}
	temp, err := temporaryName(makeAt)
	if err != nil {
		return err
	}
	if err = complete(temp); err == nil {
		err = unix.Renameat(p.dir.fd, temp, p.dir.fd, p.name)
	}
	var st unix.Stat_t
	// A rename between two names of one file does nothing (rename(2)).
	if err != nil || e.Kind == stream.HardLink && unix.Fstatat(p.dir.fd, temp, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		_ = unix.Unlinkat(p.dir.fd, temp, 0) // return the earlier error
	}
	if err == nil && e.Kind != stream.HardLink && e.Link != 0 {
		err = r.remember(p, e)
	}
	return err
}

// remember records a file to which hard links may follow.
func (r *reception) remember(p place, e *stream.Entry) error {
	var st unix.Stat_t
	if err := unix.Fstatat(p.dir.fd, p.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	r.links[e.Link] = original{p.dir.below, p.name, st.Dev, st.Ino}
	return nil
}

package target

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

const (
	setID = unix.S_ISUID | unix.S_ISGID
)

// preserve gives a file the attributes of its original, as far as this user may: only root can
// give a file away, and a file of another owner is no set-id program.
func (r *reception) preserve(fd int, path string, e *stream.Entry) error {
	mode := e.Mode
	if err := owner(func(uid, gid int) error { return unix.Fchown(fd, uid, gid) }, e, &mode); err != nil {
		return err
	}
	// Before the mode: attributes of users need write permission (xattr(7)).
	for _, x := range e.Xattrs {
		if err := r.xattr(fd, path, x); err != nil {
			return err
		}
	}
	if err := unix.Fchmod(fd, mode); err != nil {
		return err
	}
	return unix.UtimesNanoAt(fd, "", times(e), unix.AT_EMPTY_PATH)
}

// preserveSpecial is preserve for what is no regular file or directory.
func (r *reception) preserveSpecial(dir int, name string, e *stream.Entry) error {
	if !r.Preserve {
		return nil
	}
	mode := e.Mode
	chown := func(uid, gid int) error { return unix.Fchownat(dir, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW) }
	if err := owner(chown, e, &mode); err != nil {
		return err
	}
	if e.Kind != stream.Symlink { // which has none
		if err := unix.Fchmodat(dir, name, mode, 0); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(dir, name, times(e), unix.AT_SYMLINK_NOFOLLOW)
}

// owner gives a file its owner and group. Who may not keeps the file, and loses bits of mode that
// were meant for others.
func owner(chown func(uid, gid int) error, e *stream.Entry, mode *uint32) error {
	err := chown(int(e.UID), int(e.GID))
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	*mode &^= setID
	err = chown(-1, int(e.GID)) // a member of the group may
	if errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

func times(e *stream.Entry) []unix.Timespec {
	return []unix.Timespec{unix.NsecToTimespec(e.Atime.UnixNano()), unix.NsecToTimespec(e.Mtime.UnixNano())}
}

// xattr sets an extended attribute. Those outside of the namespace of users are the system's,
// which may refuse; a file system without any is reported, once.
func (r *reception) xattr(fd int, path string, x stream.Xattr) error {
	err := unix.Fsetxattr(fd, x.Name, x.Value, 0)
	users := strings.HasPrefix(x.Name, "user.") || strings.HasPrefix(x.Name, "system.posix_acl_")
	switch {
	case err == nil, !users && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL)):
		return nil
	case errors.Is(err, unix.ENOTSUP):
		if !r.warned {
			r.warned = true
			r.Problem(path, fmt.Errorf("extended attribute %s: %w; this and others of the file system are lost", x.Name, err))
		}
		return nil
	}
	return fmt.Errorf("extended attribute %s: %w", x.Name, err)
}

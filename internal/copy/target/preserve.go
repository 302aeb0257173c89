package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

const (
	setID = unix.S_ISUID | unix.S_ISGID
)

// preserve gives a file the attributes of its original, as far as this user may: only root can
// change the owner, and a file with another owner loses its set-id bits.
func (r *reception) preserve(fd int, path string, e *stream.Entry) error {
	mode := e.Mode
	if err := owner(func(uid, gid int) error { return unix.Fchown(fd, uid, gid) }, e, &mode); err != nil {
		return err
	}
	if err := dropInherited(fd, e); err != nil {
		return err
	}
	// Before the mode: setting user attributes needs write permission (xattr(7)).
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

// Access control lists, that of a file and that which new files in a directory inherit (acl(5)).
const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

// dropInherited removes the access control lists that a new file has from its directory, and its
// original does not have.
func dropInherited(fd int, e *stream.Entry) error {
	lists := []string{accessList}
	if e.Kind == stream.Directory {
		lists = append(lists, defaultList)
	}
	for _, list := range lists {
		if slices.ContainsFunc(e.Xattrs, func(x stream.Xattr) bool { return x.Name == list }) {
			continue
		}
		if err := dropList(fd, list); err != nil {
			return err
		}
	}
	return nil
}

// dropList removes an access control list if there is one.
func dropList(fd int, list string) error {
	err := unix.Fremovexattr(fd, list)
	if err == nil || errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return fmt.Errorf("access control list that is inherited from the directory: %w", err)
}

// preserveSpecial is preserve for files other than regular files and directories. The owner of the
// directory can put another file at the name meanwhile.
func (r *reception) preserveSpecial(p place, name string, e *stream.Entry) error {
	if !r.Preserve {
		return nil
	}
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Openat(p.dir.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	device := e.Kind == stream.CharDevice || e.Kind == stream.BlockDevice
	if st.Mode&unix.S_IFMT != format(e.Kind) || st.Nlink > 1 || device && st.Rdev != e.Device {
		return errors.New("was replaced while it was made")
	}
	if st.Uid == uint32(unix.Geteuid()) {
		err = r.ownerAndMode(fd, e)
	} else if e.Kind != stream.Symlink { // NFS may make root's files another user's (exports(5))
		r.Problem(p.path, fmt.Errorf("belongs to user %d, so its owner and mode are lost", st.Uid))
	}
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(fd, "", times(e), unix.AT_EMPTY_PATH)
}

// ownerAndMode sets the owner and the mode of a file that is open with O_PATH.
func (r *reception) ownerAndMode(fd int, e *stream.Entry) error {
	mode := e.Mode
	chown := func(uid, gid int) error { return unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH) }
	if err := owner(chown, e, &mode); err != nil {
		return err
	}
	switch {
	case e.Kind == stream.Symlink: // has no mode
		return nil
	case r.proc:
		return unix.Fchmodat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), mode, 0)
	}
	if err := unix.Fchmodat(fd, "", mode, unix.AT_EMPTY_PATH); err != nil { // since Linux 6.6
		return fmt.Errorf("set its mode without /proc, which takes Linux 6.6: %w", err)
	}
	return nil
}

// owner sets a file's owner and group. If this user may not, the file keeps its owner, and mode
// loses the set-id bits.
func owner(chown func(uid, gid int) error, e *stream.Entry, mode *uint32) error {
	err := chown(int(e.UID), int(e.GID))
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	*mode &^= setID
	err = chown(-1, int(e.GID)) // members of the group may
	if errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

func times(e *stream.Entry) []unix.Timespec {
	timespec := func(t time.Time) unix.Timespec { // UnixNano ends in 2262
		return unix.Timespec{Sec: t.Unix(), Nsec: int64(t.Nanosecond())}
	}
	return []unix.Timespec{timespec(e.Atime), timespec(e.Mtime)}
}

// xattr sets an extended attribute. Errors for attributes outside of the user namespace are ignored
// if the system refuses them. A file system without extended attributes is reported once, and an
// attribute for which there is no room by itself: a full file system fails the next write.
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
	case hasNoRoom(err):
		r.Problem(path, fmt.Errorf("extended attribute %s is lost: %w", x.Name, err))
		return nil
	}
	return fmt.Errorf("extended attribute %s: %w", x.Name, err)
}

// hasNoRoom reports whether an attribute is too large, also for its file: ext4 has a few KiB for all
// attributes of a file.
func hasNoRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.E2BIG) || errors.Is(err, unix.ERANGE)
}

package target

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// file is an incomplete regular file.
type file struct {
	place place
	entry *stream.Entry
	fd    int
	temp  string // its temporary name; empty if it has none
	plain bool   // it already has its mode
}

// create makes a file for a place.
func (r *reception) create(p place, e *stream.Entry) (*file, error) {
	if err := r.notItself(p, e); err != nil {
		return nil, err
	}
	f := &file{place: p, entry: e, plain: !r.Preserve}
	mode := uint32(0o600)
	if f.plain {
		mode = e.Mode & 0o777
	}
	if fd, ok := r.tmp.unnamed(p.dir.fd, mode, r.proc); ok {
		f.fd = fd
		return f, nil
	}
	var err error
	f.temp, err = temporaryName(func(name string) error {
		var err error
		f.fd, err = ignoringEINTR(func() (int, error) {
			return unix.Openat(p.dir.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// notItself returns an error if a file of this machine would replace itself.
func (r *reception) notItself(p place, e *stream.Entry) error {
	if !r.SameMachine {
		return nil
	}
	flags := 0
	if e.Kind != stream.File {
		flags = unix.AT_SYMLINK_NOFOLLOW
	}
	var st unix.Stat_t
	if unix.Fstatat(p.dir.fd, p.name, &st, flags) == nil && st.Dev == e.Dev && st.Ino == e.Ino {
		return errors.New("is the same file as the original")
	}
	return nil
}

// write writes bytes at an offset.
func (f *file) write(offset int64, b []byte) error {
	for len(b) > 0 {
		n, err := ignoringEINTR(func() (int, error) { return unix.Pwrite(f.fd, b, offset) })
		if err != nil {
			return err
		}
		b, offset = b[n:], offset+int64(n)
	}
	return nil
}

// discard removes the file.
func (f *file) discard() {
	if f.fd >= 0 {
		unix.Close(f.fd)
		f.fd = -1
	}
	if f.temp != "" {
		_ = unix.Unlinkat(f.place.dir.fd, f.temp, 0) // another process may have removed it
		f.temp = ""
	}
}

// complete sets the size, attributes and name of a file.
func (r *reception) complete(f *file, size int64) error {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return err
	}
	if st.Size != size {
		if err := unix.Ftruncate(f.fd, size); err != nil {
			return err
		}
	}
	if r.Preserve {
		if err := r.preserve(f.fd, f.place.path, f.entry); err != nil {
			return err
		}
	}
	if err := r.name(f); err != nil {
		return err
	}
	err := f.close()
	if err == nil && f.entry.Link != 0 {
		r.links[f.entry.Link] = original{f.place.dir.below, f.place.name, st.Dev, st.Ino}
	}
	return err
}

// close closes a file that is still open. Some network file systems report errors of delayed writes
// only now (close(2)).
func (f *file) close() error {
	if f.fd < 0 {
		return nil
	}
	fd := f.fd
	f.fd = -1
	return unix.Close(fd)
}

// name puts a file in its place, and replaces an existing file atomically.
func (r *reception) name(f *file) error {
	p := f.place
	if f.temp == "" {
		err := linkUnnamed(f.fd, p.dir.fd, p.name)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	existing, err := r.replaceable(p, f.entry)
	if err != nil {
		return err
	}
	if existing != nil && f.plain && existing.Mode&unix.S_IFMT == unix.S_IFREG {
		if err := r.like(f, existing); err != nil {
			return err
		}
	}
	if f.temp == "" {
		f.temp, err = temporaryName(func(name string) error { return linkUnnamed(f.fd, p.dir.fd, name) })
		if err != nil {
			return err
		}
	}
	if err := f.close(); err != nil { // what is there stays if the new file is not whole
		return err
	}
	if err := unix.Renameat(p.dir.fd, f.temp, p.dir.fd, p.name); err != nil {
		return err
	}
	f.temp = ""
	return nil
}

// like gives a file the mode and the access control list of the file that it replaces, and its owner
// if possible.
func (r *reception) like(f *file, existing *unix.Stat_t) error {
	mode := existing.Mode & 0o777
	if err := unix.Fchown(f.fd, int(existing.Uid), int(existing.Gid)); err == nil {
		mode = existing.Mode & 0o7777 // set-id bits are valid with this owner only
	}
	list, err := r.accessListAt(f.place)
	if err != nil {
		return err
	}
	if list == nil {
		if err := dropList(f.fd, accessList); err != nil {
			return err
		}
		return unix.Fchmod(f.fd, mode)
	}
	const group = 0o070 // with a list, the most that it allows to others than the owner, not what the group may
	if err := unix.Fchmod(f.fd, mode&^group); err != nil {
		return err
	}
	err = unix.Fsetxattr(f.fd, accessList, list, 0)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// accessListAt returns the access control list of the file at a place; nil: it has none.
func (r *reception) accessListAt(p place) ([]byte, error) {
	if !r.proc {
		return nil, nil
	}
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Openat(p.dir.fd, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	list := make([]byte, 64<<10) // XATTR_SIZE_MAX
	n, err := unix.Getxattr(fmt.Sprintf("/proc/self/fd/%d", fd), accessList, list)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	return list[:max(n, 0)], err
}

// replaceable returns the existing file at a place, if an entry may replace it: a regular file, a
// symbolic link that does not lead to what is not replaced, or a file of the same kind.
func (r *reception) replaceable(p place, e *stream.Entry) (*unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(p.dir.fd, p.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, format(e.Kind):
		return &st, nil
	case unix.S_IFLNK:
		if leadsToSpecial(p) {
			return nil, errors.New("is a link to a device, FIFO, socket or descriptor, and is replaced by links alone")
		}
		return &st, nil
	case unix.S_IFDIR:
		return nil, errors.New("is a directory, and is not replaced by what is none")
	}
	return nil, errors.New("is a device, FIFO or socket, and is not replaced by a file of another kind")
}

// leadsToSpecial reports whether a symbolic link leads to a device, FIFO or socket, or through a
// descriptor of this process, as /dev/stdout does: the machine needs such links.
func leadsToSpecial(p place) bool {
	var st unix.Stat_t
	if unix.Fstatat(p.dir.fd, p.name, &st, 0) != nil {
		return false
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return true
	}
	// Descriptors are magic links, which are now the only reason for ELOOP.
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Openat2(p.dir.fd, p.name, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS,
		})
	})
	if err == nil {
		unix.Close(fd)
	}
	return errors.Is(err, unix.ELOOP)
}

// format returns the file type of a kind (inode(7)).
func format(kind stream.Kind) uint32 {
	switch kind {
	case stream.Symlink:
		return unix.S_IFLNK
	case stream.FIFO:
		return unix.S_IFIFO
	case stream.CharDevice:
		return unix.S_IFCHR
	case stream.BlockDevice:
		return unix.S_IFBLK
	case stream.Socket:
		return unix.S_IFSOCK
	default:
		return unix.S_IFREG
	}
}

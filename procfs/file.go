package procfs

import (
	"context"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// forEver is the cache time of what does not change, or whose changes the kernel is told of.
const forEver = time.Hour

// file is anything in the view.
type file interface {
	// attr sets owner, mode and size, and returns how long they are valid.
	attr(a *fuse.Attr) (time.Duration, unix.Errno)
}

// directory is a file with names in it.
type directory interface {
	file
	// lookup returns the file of a name, counted as known to the kernel, and how long the name
	// stands for it. No file and no error mean that no file of that name exists, for so long.
	lookup(ctx context.Context, self uint64, name string, who fuse.Owner) (*inode, time.Duration, unix.Errno)
	// list returns names behind a position, in the order of positions and without the dots. It may return only the
	// first of them.
	list(ctx context.Context, position uint64) ([]entry, unix.Errno)
}

// briefed is a directory whose listings have attributes as well as names.
type briefed interface {
	directory
	// brief returns the file of a name in a listing, counted as known to the kernel, and how long
	// the name stands for it; nil makes the kernel ask for it.
	brief(self uint64, e entry) (*inode, time.Duration)
}

// symlink is a symbolic link.
type symlink interface {
	file
	target(ctx context.Context, who fuse.Owner) (string, unix.Errno)
}

// text is a file whose content is known and does not change.
type text struct {
	content  []byte
	mode     uint32
	uid, gid uint32
	since    int64 // seconds since 1970
	errno    unix.Errno
}

func (t *text) attr(a *fuse.Attr) (time.Duration, unix.Errno) {
	a.Mode, a.Nlink, a.Uid, a.Gid = unix.S_IFREG|t.mode, 1, t.uid, t.gid
	a.Size = uint64(len(t.content))
	if t.errno != 0 {
		a.Size = 1 // else the kernel would not read it
	}
	stamp(a, t.since)
	return forEver, 0
}

// stamp sets all times of a file.
func stamp(a *fuse.Attr, seconds int64) {
	a.Atime, a.Mtime, a.Ctime = uint64(seconds), uint64(seconds), uint64(seconds)
}

// pointer is a symbolic link whose text does not change.
type pointer struct {
	text     string
	uid, gid uint32
	private  bool // only its owner may read the text
	since    int64
}

func (p *pointer) attr(a *fuse.Attr) (time.Duration, unix.Errno) {
	a.Mode, a.Nlink, a.Uid, a.Gid = unix.S_IFLNK|0o777, 1, p.uid, p.gid
	stamp(a, p.since)
	return forEver, 0
}

func (p *pointer) target(_ context.Context, who fuse.Owner) (string, unix.Errno) {
	if p.private && !may(who, p.uid) {
		return "", unix.EACCES
	}
	return p.text, 0
}

// may reports whether a user may read the private files of a process: the kernel's check before it
// shows links and descriptors (PTRACE_MODE_READ of ptrace(2)).
func may(who fuse.Owner, owner uint32) bool { return who.Uid == 0 || who.Uid == owner }

// folder has the attributes of a directory.
type folder struct {
	mode     uint32
	uid, gid uint32
	since    int64
}

func (f *folder) attr(a *fuse.Attr) (time.Duration, unix.Errno) {
	a.Mode, a.Nlink, a.Uid, a.Gid = unix.S_IFDIR|f.mode, 2, f.uid, f.gid
	stamp(a, f.since)
	return forEver, 0
}

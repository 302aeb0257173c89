package procfs

import (
	"context"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// glance is how long the kernel caches the attributes of a local process: programs that list /proc
// ask for them right after that.
const glance = 250 * time.Millisecond

// localDir is a directory of a local process that must not be a link, for programs that do not
// follow links there (O_NOFOLLOW): /proc/PID, /proc/PID/task and /proc/PID/task/TID. It contains
// links into the real procfs, so that they lead to the kernel's own files.
type localDir struct {
	view *View
	path string // in the real procfs
	met  time.Time
}

func (d *localDir) attr(a *fuse.Attr) (time.Duration, unix.Errno) {
	st, errno := d.view.real.stat(d.path)
	if errno != 0 {
		return 0, errno
	}
	a.Mode, a.Nlink, a.Uid, a.Gid = st.Mode, uint32(st.Nlink), st.Uid, st.Gid
	stamp(a, st.Mtim.Sec)
	return glance, 0
}

func (d *localDir) lookup(_ context.Context, self uint64, name string, _ fuse.Owner) (*inode, time.Duration, unix.Errno) {
	return d.find(self, name)
}

// find returns a file of the directory, whose inode number in the view is self.
func (d *localDir) find(self uint64, name string) (*inode, time.Duration, unix.Errno) {
	path := d.path + "/" + name
	depth := strings.Count(path, "/")
	st, errno := d.view.real.stat(path)
	if errno == unix.ENOENT && depth != 2 && d.alive() {
		// Programs repeatedly look for files that only other systems have, such as ctty, so their
		// absence is cached. That of a file of a process that has ended is not: to the kernel the
		// directory stays the same when another process gets the number.
		return nil, forEver, 0
	}
	if errno != 0 {
		return nil, 0, errno
	}
	switch {
	case depth == 1 && name == "task", depth == 2 && number(name) != 0:
		return d.view.table.at(place{self, name}, func() file { return &localDir{d.view, path, time.Now()} }), freshness, 0
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		// Its text is read by path, as it is not ours. The next lookup returns another inode,
		// because the text may have changed.
		return d.view.table.add(&localLink{d.view, path}), 0, 0
	}
	to := d.view.passage(depth) + path
	return d.view.table.at(place{self, name}, func() file { return &pointer{text: to, since: st.Mtim.Sec} }), forEver, 0
}

// alive reports whether the process, or thread, exists.
func (d *localDir) alive() bool {
	_, errno := d.view.real.stat(d.path)
	return errno == 0
}

func (d *localDir) list(_ context.Context, position uint64) ([]entry, unix.Errno) {
	return d.view.real.listBehind(d.path, position)
}

// localLink is a link in a local process's directory: exe, cwd or root.
type localLink struct {
	view *View
	path string
}

func (l *localLink) attr(a *fuse.Attr) (time.Duration, unix.Errno) {
	st, errno := l.view.real.stat(l.path)
	if errno != 0 {
		return 0, errno
	}
	a.Mode, a.Nlink, a.Uid, a.Gid = st.Mode, 1, st.Uid, st.Gid
	stamp(a, st.Mtim.Sec)
	return 0, 0
}

func (l *localLink) target(_ context.Context, who fuse.Owner) (string, unix.Errno) {
	st, errno := l.view.real.stat(l.path)
	if errno != 0 {
		return "", errno
	}
	if !may(who, st.Uid) {
		return "", unix.EACCES
	}
	return l.view.real.link(l.path)
}

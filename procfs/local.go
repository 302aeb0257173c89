package procfs

import (
	"context"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// glance is for how long the kernel takes the owner of a local process, and that it
// is there, for granted: programs that list /proc ask for it right after that.
const glance = 250 * time.Millisecond

// localDir is a directory of a local process that has to be a real one, for programs
// that do not follow links there (O_NOFOLLOW): /proc/PID, /proc/PID/task and
// /proc/PID/task/TID. In it are links into the real procfs, so that what they lead to
// are the kernel's own files.
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

// find returns a file of the directory, which is shown as that with the number self.
func (d *localDir) find(self uint64, name string) (*inode, time.Duration, unix.Errno) {
	path := d.path + "/" + name
	depth := strings.Count(path, "/")
	st, errno := d.view.real.stat(path)
	if errno == unix.ENOENT && depth != 2 && d.alive() {
		// Programs look for files that only other systems have, such as ctty, again and
		// again. Those of a process that has ended are not such: for the kernel the
		// directory is still that of the number when another process gets it.
		return nil, forEver, 0
	}
	if errno != 0 {
		return nil, 0, errno
	}
	switch {
	case depth == 1 && name == "task", depth == 2 && number(name) != 0:
		return d.view.table.at(place{self, name}, func() file { return &localDir{d.view, path, time.Now()} }), freshness, 0
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		// Its text is asked for by name: it is not ours. The next lookup gives
		// another inode, as the text may be another one then.
		return d.view.table.add(&localLink{d.view, path}), 0, 0
	}
	to := d.view.passage(depth) + path
	return d.view.table.at(place{self, name}, func() file { return &pointer{text: to, since: st.Mtim.Sec} }), forEver, 0
}

// alive reports whether the process, or thread, is there.
func (d *localDir) alive() bool {
	_, errno := d.view.real.stat(d.path)
	return errno == 0
}

func (d *localDir) list(context.Context) ([]entry, unix.Errno) { return d.view.real.list(d.path) }

// localLink is a link in a local process' directory: exe, cwd or root.
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

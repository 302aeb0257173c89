package procfs

import (
	"context"
	"path"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// origin is a place to fetch files from.
type origin interface {
	read(ctx context.Context, path string) ([]byte, error)
	link(ctx context.Context, path string) (string, error)
	list(ctx context.Context, path string) ([]Entry, error)
	owner() folder
}

// ofProcess is /proc/PID on the process's node.
type ofProcess struct {
	source Source
	of     *process
}

func (o ofProcess) read(ctx context.Context, path string) ([]byte, error) {
	return o.source.Read(ctx, &o.of.Process, path)
}

func (o ofProcess) link(ctx context.Context, path string) (string, error) {
	return o.source.Link(ctx, &o.of.Process, path)
}

func (o ofProcess) list(ctx context.Context, path string) ([]Entry, error) {
	return o.source.List(ctx, &o.of.Process, path)
}

func (o ofProcess) owner() folder { return o.of.folder(0) }

// inspect returns a file of a process or thread that is not kept in memory. It is fetched from the
// process's node as the reader may see it, unless the process is here.
func (v *View) inspect(at place, of *process, file string, mode uint32, who fuse.Owner) (*inode, time.Duration, unix.Errno) {
	if of.Here {
		dir := &localDir{view: v, path: path.Dir(of.PID.String() + "/" + file)}
		return dir.find(at.parent, at.name)
	}
	if at.name == wchan && !may(who, of.UID) {
		return v.table.add(of.text(nowhere, mode)), 0, 0
	}
	return v.fetch(at, who, ofProcess{v.source, of}, file, mode), 0, 0
}

// ofNode is /proc on a node.
type ofNode struct {
	source Source
	node   wire.NodeID
	since  int64
}

func (o ofNode) read(ctx context.Context, path string) ([]byte, error) {
	return o.source.ReadNode(ctx, o.node, path)
}

func (o ofNode) link(context.Context, string) (string, error) { return "", unix.EINVAL }

func (o ofNode) list(ctx context.Context, path string) ([]Entry, error) {
	return o.source.ListNode(ctx, o.node, path)
}

func (o ofNode) owner() folder { return folder{since: o.since} }

// fetch returns a file that is fetched from its node on the first access, as the user who looks it
// up: the node's kernel decides what this user sees. Other users get another inode, so the kernel
// must ask for it at each lookup. A reader reads one state of it; the next lookup after that
// returns another inode. That of a directory does so a little later: programs that list fd look up
// each name in it by its path, which begins with another lookup of fd.
func (v *View) fetch(at place, who fuse.Owner, from origin, path string, mode uint32) *inode {
	about := from.owner()
	about.mode = mode &^ unix.S_IFMT
	if at.name == stack {
		about.uid, about.gid = 0, 0
	}
	at = at.forUser(who.Uid)
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		newDir := func() file { return &fetchedDir{folder: about, view: v, from: from, path: path} }
		n := v.table.at(at, newDir)
		if d, ok := n.file.(*fetchedDir); ok && d.old() {
			v.table.vacate(at)
			v.table.forget(n.id, 1)
			n = v.table.at(at, newDir)
		}
		return n
	case unix.S_IFLNK:
		return v.table.add(&fetchedLink{about: about, from: from, path: path}) // see remoteLink
	}
	return v.table.at(at, func() file { return &fetchedFile{view: v, at: at, about: about, from: from, path: path} })
}

// used makes the next lookup of a file return another inode.
func (v *View) used(at place) {
	if v.table.vacate(at) {
		v.news.later(at)
	}
}

// fetchedFile is a file on a node, as one user may see it.
type fetchedFile struct {
	view  *View
	at    place
	about folder
	from  origin
	path  string

	mu   sync.Mutex              // of load
	kept atomic.Pointer[fetched] // what load has fetched; nil: nothing
	text atomic.Pointer[text]    // nil: not fetched yet
}

// forgotten is called when the kernel does not know the file any more.
func (f *fetchedFile) forgotten() {
	if kept := f.kept.Load(); kept != nil {
		f.view.kept.drop(kept)
	}
}

// attr returns what is known without asking the node, or waiting for an answer to another reader.
func (f *fetchedFile) attr(a *fuse.Attr) (time.Duration, unix.Errno) {
	if t := f.text.Load(); t != nil {
		return t.attr(a)
	}
	// The size is 0 and not cached: the kernel asks for it before it reads beyond it
	// (fuse_cache_read_iter of fs/fuse/file.c).
	empty := &text{mode: f.about.mode, uid: f.about.uid, gid: f.about.gid, since: f.about.since}
	_, errno := empty.attr(a)
	return 0, errno
}

// readable reports whether the mode lets a user read the file.
func (f *fetchedFile) readable(who fuse.Owner) bool {
	return f.about.mode&unix.S_IROTH != 0 || may(who, f.about.uid)
}

// load returns the content of the file, which is fetched once.
func (f *fetchedFile) load(ctx context.Context) *text {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.text.Load(); t != nil {
		return t
	}
	content, err := f.from.read(ctx, f.path)
	t := &text{content, f.about.mode, f.about.uid, f.about.gid, f.about.since, errnoOf(err)}
	uid, _, _ := Asker(ctx)
	if err == nil {
		kept := f.view.kept.fetch(uid, len(content), func() { f.text.CompareAndSwap(t, nil) })
		if f.kept.Store(kept); kept == nil {
			err = unix.ENFILE
			t.content, t.errno = nil, unix.ENFILE
		}
	}
	f.text.Store(t)
	if err != nil || f.path != "environ" { // which is valid until the process executes
		f.view.table.vacate(f.at)
	}
	return t
}

// fetchedLink is a symbolic link on a node.
type fetchedLink struct {
	about folder
	from  origin
	path  string
}

func (l *fetchedLink) attr(a *fuse.Attr) (time.Duration, unix.Errno) {
	return privateLink(l.about, "").attr(a)
}

func (l *fetchedLink) target(ctx context.Context, who fuse.Owner) (string, unix.Errno) {
	if !may(who, l.about.uid) {
		return "", unix.EACCES
	}
	to, err := l.from.link(ctx, l.path)
	return to, errnoOf(err)
}

func privateLink(about folder, to string) *pointer {
	return &pointer{text: to, uid: about.uid, gid: about.gid, private: true, since: about.since}
}

// fetchedDir is a directory on a node, as one user may see it, in its state at the first access.
type fetchedDir struct {
	folder

	view *View
	from origin
	path string

	mu     sync.Mutex              // of load
	kept   atomic.Pointer[fetched] // what load has fetched; nil: nothing
	loaded atomic.Pointer[loaded]
}

// forgotten is called when the kernel does not know the directory any more.
func (d *fetchedDir) forgotten() {
	if kept := d.kept.Load(); kept != nil {
		d.view.kept.drop(kept)
	}
}

// loaded is a directory's state, or why it could not be fetched.
type loaded struct {
	entries []Entry
	names   []entry // of the entries
	errno   unix.Errno
	at      time.Time
}

// load fetches the entries once. Readers that have waited for a node that does not answer get the
// same error: none of them asks it again.
func (d *fetchedDir) load(ctx context.Context) *loaded {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.loaded.Load(); l != nil {
		return l
	}
	l := &loaded{at: time.Now()}
	var err error
	l.entries, err = d.from.list(ctx, d.path)
	uid, _, _ := Asker(ctx)
	if err == nil {
		kept := d.view.kept.fetch(uid, sizeOf(l.entries), func() { d.loaded.CompareAndSwap(l, nil) })
		if d.kept.Store(kept); kept == nil {
			l.entries, err = nil, unix.ENFILE
		}
	}
	l.names, l.errno = listed(l.entries), errnoOf(err)
	d.loaded.Store(l)
	return l
}

// sizeOf returns the memory that entries and their names take, in bytes.
func sizeOf(entries []Entry) (size int) {
	for _, e := range entries {
		size += int(unsafe.Sizeof(e)+unsafe.Sizeof(entry{})) + len(e.Name) + len(e.Target)
	}
	return size
}

// old reports whether the state is an error, or too old for a program that looks the directory up.
// It does not wait for the node.
func (d *fetchedDir) old() bool {
	l := d.loaded.Load()
	return l != nil && (l.errno != 0 || time.Since(l.at) > freshness)
}

func (d *fetchedDir) list(ctx context.Context, _ uint64) ([]entry, unix.Errno) {
	l := d.load(ctx)
	return l.names, l.errno
}

// listed returns the names of the entries of a node's directory.
func listed(have []Entry) []entry {
	names := make([]entry, 0, len(have))
	for _, e := range have {
		if plain(e.Name) {
			names = append(names, entry{name: e.Name, mode: typeBits(e.Type)})
		}
	}
	return numbersLast(names)
}

func (d *fetchedDir) lookup(ctx context.Context, self uint64, name string, who fuse.Owner) (*inode, time.Duration, unix.Errno) {
	l := d.load(ctx)
	if l.errno != 0 {
		return nil, 0, l.errno
	}
	for _, e := range l.entries {
		if e.Name != name {
			continue
		}
		if e.Target != "" {
			return d.view.table.add(listedLink{privateLink(d.folder, e.Target)}), 0, 0
		}
		mode := typeBits(e.Type) | 0o444
		if e.Type.IsDir() {
			mode |= 0o111
		}
		return d.view.fetch(place{self, name}, who, d.from, path.Join(d.path, name), mode), 0, 0
	}
	return nil, 0, unix.ENOENT
}

// plain reports whether a name from a node is valid in a directory.
func plain(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= unix.NAME_MAX && path.Base(name) == name
}

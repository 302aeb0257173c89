package procfs

import (
	"context"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// patience bounds a reader's wait for a node. A process that waits for an answer of the view cannot
// be interrupted.
const patience = 2 * time.Second

// requests answers the kernel's requests.
type requests struct {
	fuse.RawFileSystem // refuses everything else

	view *View
}

func newRequests(v *View) *requests {
	return &requests{RawFileSystem: fuse.NewDefaultRawFileSystem(), view: v}
}

func (r *requests) String() string { return fsName }

// bounded returns the context of a request. It does not end when the caller gets a signal: most
// programs do not expect EINTR from /proc.
func bounded(who fuse.Caller) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(&fuse.Context{Caller: who}), patience)
}

func (r *requests) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	parent := r.view.table.find(in.NodeId)
	if parent == nil {
		return fuse.Status(unix.ESTALE)
	}
	dir, ok := parent.file.(directory)
	if !ok {
		return fuse.ENOTDIR
	}
	ctx, cancel := bounded(in.Caller)
	defer cancel()
	n, keep, errno := dir.lookup(ctx, in.NodeId, name, in.Owner)
	if errno != 0 {
		return fuse.Status(errno)
	}
	if n == nil {
		out.SetEntryTimeout(keep)
		return fuse.OK // with node 0: the name does not exist, and the kernel may cache that
	}
	return fuse.Status(r.fill(n, keep, out))
}

func (r *requests) Forget(id, lookups uint64) { r.view.table.forget(id, lookups) }

func (r *requests) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n := r.view.table.find(in.NodeId)
	if n == nil {
		return fuse.Status(unix.ESTALE)
	}
	// The kernel asks when it opens a file, and knows the size then, as sendfile(2) needs it. It
	// also asks for stat(2), of users who may not read the file: nothing is fetched for them.
	if f, ok := n.file.(*fetchedFile); ok && (in.Flags()&fuse.FUSE_GETATTR_FH != 0 || f.readable(in.Owner)) {
		ctx, cancel := bounded(in.Caller)
		defer cancel()
		f.load(ctx)
	}
	keep, errno := n.file.attr(&out.Attr)
	if errno != 0 {
		return fuse.Status(errno)
	}
	out.Ino = n.id
	out.SetTimeout(keep)
	return fuse.OK
}

func (r *requests) SetAttr(<-chan struct{}, *fuse.SetAttrIn, *fuse.AttrOut) fuse.Status {
	return fuse.EACCES
}

func (r *requests) Readlink(_ <-chan struct{}, in *fuse.InHeader) ([]byte, fuse.Status) {
	n := r.view.table.find(in.NodeId)
	if n == nil {
		return nil, fuse.Status(unix.ESTALE)
	}
	link, ok := n.file.(symlink)
	if !ok {
		return nil, fuse.EINVAL
	}
	if _, ok := link.(remoteLink); ok && !r.view.mayHaveText(in.Pid) {
		return nil, fuse.Status(unix.ELOOP)
	}
	ctx, cancel := bounded(in.Caller)
	defer cancel()
	to, errno := link.target(ctx, in.Owner)
	return []byte(to), fuse.Status(errno)
}

// StatFs answers statfs(2), which only shows that this is a file system.
func (r *requests) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	if r.view.statfs != nil {
		r.view.statfs()
	}
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, unix.NAME_MAX
	return fuse.OK
}

// Open is not needed: after one ENOSYS the kernel does not ask again (FUSE_NO_OPEN_SUPPORT).
func (r *requests) Open(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status { return fuse.ENOSYS }

// Flush is not needed: after one ENOSYS the kernel does not ask again.
func (r *requests) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }

func (r *requests) Read(_ <-chan struct{}, in *fuse.ReadIn, _ []byte) (fuse.ReadResult, fuse.Status) {
	n := r.view.table.find(in.NodeId)
	if n == nil {
		return nil, fuse.Status(unix.ESTALE)
	}
	var t *text
	switch f := n.file.(type) {
	case *text:
		t = f
	case *fetchedFile:
		ctx, cancel := bounded(in.Caller)
		defer cancel()
		t = f.load(ctx)
	default:
		return nil, fuse.Status(unix.EISDIR)
	}
	if t.errno != 0 {
		return nil, fuse.Status(t.errno)
	}
	from := min(in.Offset, uint64(len(t.content)))
	to := min(from+uint64(in.Size), uint64(len(t.content)))
	return fuse.ReadResultData(t.content[from:to]), fuse.OK
}

// Write refuses: root can open a file for writing.
func (r *requests) Write(<-chan struct{}, *fuse.WriteIn, []byte) (uint32, fuse.Status) {
	return 0, fuse.EACCES
}

// OpenDir is not needed: after one ENOSYS the kernel does not ask again (FUSE_NO_OPENDIR_SUPPORT).
func (r *requests) OpenDir(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status {
	return fuse.ENOSYS
}

// ReadDirPlus is the only request to list: the kernel has no reason to send READDIR.
func (r *requests) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	n := r.view.table.find(in.NodeId)
	if n == nil {
		return fuse.Status(unix.ESTALE)
	}
	dir, ok := n.file.(directory)
	if !ok {
		return fuse.ENOTDIR
	}
	ctx, cancel := bounded(in.Caller)
	defer cancel()
	entries, errno := dir.list(ctx, in.Offset)
	if errno != 0 {
		return fuse.Status(errno)
	}
	first, others := rest(withDots, in.Offset), rest(entries, in.Offset)
	if len(first)+len(others) == 0 {
		// An answer of no bytes would make the kernel keep the whole listing, of a directory that it has
		// not opened, for the next programs (fuse_readdir_cache_end of fs/fuse/readdir.c). An answer
		// shorter than any entry of READDIRPLUS ends it, too.
		out.AddDirEntry(fuse.DirEntry{Name: "."})
		return fuse.OK
	}
	for _, e := range first {
		if out.AddDirLookupEntry(fuse.DirEntry{Name: e.name, Mode: e.mode, Off: e.behind}) == nil {
			return fuse.OK
		}
	}
	for _, e := range others {
		about := out.AddDirLookupEntry(fuse.DirEntry{Name: e.name, Mode: e.mode, Off: e.behind})
		if about == nil {
			return fuse.OK
		}
		r.brief(dir, n.id, e, about)
	}
	return fuse.OK
}

// brief gives the kernel the attributes of a listed file that are known. The kernel asks for the others.
func (r *requests) brief(dir directory, self uint64, e entry, about *fuse.EntryOut) {
	d, ok := dir.(briefed)
	if !ok {
		return
	}
	if n, keep := d.brief(self, e); n != nil && r.fill(n, keep, about) != 0 {
		*about = fuse.EntryOut{}
	}
}

// fill passes an inode that was looked up to the kernel.
func (r *requests) fill(n *inode, keep time.Duration, out *fuse.EntryOut) unix.Errno {
	attrKeep, errno := n.file.attr(&out.Attr)
	if errno != 0 {
		r.view.table.forget(n.id, 1)
		return errno
	}
	out.NodeId, out.Ino = n.id, n.id
	out.SetEntryTimeout(keep)
	out.SetAttrTimeout(attrKeep)
	return 0
}

package procfs

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// processDir is /proc/PID of a remote process.
type processDir struct {
	view *View
	pid  wire.PID
	born uint64
}

// process returns the process in its current version.
func (d *processDir) process() (*process, unix.Errno) {
	p := d.view.process(d.pid)
	if p == nil || p.born != d.born {
		return nil, unix.ESRCH
	}
	return p, 0
}

func (d *processDir) attr(a *fuse.Attr) (time.Duration, unix.Errno) {
	p, errno := d.process()
	if errno != 0 {
		return 0, errno
	}
	f := p.folder(0o555)
	return f.attr(a)
}

// meanwhile is how often a lookup starts again because the process has changed.
const meanwhile = 8

func (d *processDir) lookup(_ context.Context, self uint64, name string, who fuse.Owner) (*inode, time.Duration, unix.Errno) {
	here := place{self, name}
	for range meanwhile {
		p, errno := d.process()
		if errno != 0 {
			return nil, 0, errno
		}
		n, keep, errno := d.find(here, p, who)
		// If it changes from now on, the kernel is told of this file (apply.go). If it changed
		// before, the kernel was not.
		if n == nil || errno != 0 || d.view.process(d.pid) == p {
			return n, keep, errno
		}
		d.view.table.forget(n.id, 1)
		d.view.used(here)
	}
	return nil, 0, unix.EAGAIN
}

// find returns a file of a version of the process.
func (d *processDir) find(here place, p *process, who fuse.Owner) (*inode, time.Duration, unix.Errno) {
	if here.name == "task" {
		return d.view.table.at(here, func() file { return newTaskDir(d.view, p) }), forEver, 0
	}
	mode, ok := files[here.name]
	if !ok && !p.Here {
		return nil, forEver, 0
	}
	if content := p.content(here.name); content != nil {
		return d.view.table.at(here, func() file { return p.text(content, mode) }), forEver, 0
	}
	return d.view.inspect(here, p, here.name, mode, who)
}

// brief implements [briefed] for the files that programs read of all processes.
func (d *processDir) brief(self uint64, e entry) (*inode, time.Duration) {
	p, errno := d.process()
	if errno != 0 || !slices.Contains(readOfAll, e.name) || p.content(e.name) == nil {
		return nil, 0
	}
	here := place{self, e.name}
	n := d.view.table.at(here, func() file { return p.text(p.content(e.name), files[e.name]) })
	if d.view.process(d.pid) != p { // see lookup
		d.view.table.forget(n.id, 1)
		d.view.used(here)
		return nil, 0
	}
	return n, forEver
}

func (d *processDir) list(_ context.Context, position uint64) ([]entry, unix.Errno) {
	p, errno := d.process()
	if errno != 0 {
		return nil, errno
	}
	if p.Here {
		return d.view.real.listBehind(d.pid.String(), position)
	}
	return processNames, 0
}

// taskDir is /proc/PID/task of a remote process, in one version.
type taskDir struct {
	folder

	view  *View
	of    *process
	names func() []entry
}

func (d *taskDir) lookup(_ context.Context, self uint64, name string, _ fuse.Owner) (*inode, time.Duration, unix.Errno) {
	for _, t := range d.of.Threads {
		if t.TID.String() == name {
			return d.view.table.at(place{self, name}, func() file { return &threadDir{d.of.folder(0o555), d.view, d.of, t} }), forEver, 0
		}
	}
	return nil, 0, unix.ENOENT
}

func (d *taskDir) list(context.Context, uint64) ([]entry, unix.Errno) { return d.names(), 0 }

func newTaskDir(v *View, of *process) *taskDir {
	names := func() []entry {
		entries := make([]entry, len(of.Threads))
		for i, t := range of.Threads {
			entries[i] = entry{name: t.TID.String(), mode: unix.S_IFDIR}
		}
		return inOrder(dots, entries)
	}
	return &taskDir{of.folder(0o555), v, of, sync.OnceValue(names)}
}

// threadDir is /proc/PID/task/TID of a remote process, in one version.
type threadDir struct {
	folder

	view   *View
	of     *process
	thread Thread
}

func (d *threadDir) lookup(_ context.Context, self uint64, name string, who fuse.Owner) (*inode, time.Duration, unix.Errno) {
	mode, ok := files[name]
	if !ok && !d.of.Here {
		return nil, forEver, 0
	}
	here := place{self, name}
	if content := d.content(name); content != nil {
		return d.view.table.at(here, func() file { return d.of.text(content, mode) }), forEver, 0
	}
	return d.view.inspect(here, d.of, "task/"+d.thread.TID.String()+"/"+name, mode, who)
}

// content returns the content of a file that is shown from memory; nil: it has to be fetched.
func (d *threadDir) content(name string) []byte {
	switch name {
	case "stat":
		return d.thread.Stat
	case "status":
		return d.thread.Status
	case "comm":
		if d.thread.Stat == nil {
			return nil
		}
		name, _, _ := cutStat(d.thread.Stat)
		return comm(name, d.thread.Status)
	}
	return d.of.content(name) // threads share the rest
}

func (d *threadDir) list(_ context.Context, position uint64) ([]entry, unix.Errno) {
	if d.of.Here {
		return d.view.real.listBehind(d.path(), position)
	}
	return threadNames, 0
}

// path returns the path of a thread in the real procfs.
func (d *threadDir) path() string { return d.of.PID.String() + "/task/" + d.thread.TID.String() }

package procfs

import (
	"context"
	"slices"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// own is the name of the directory that no other procfs has. The real procfs is mounted in it on
// passage.
const (
	own     = "bproc"
	passage = "local"
)

// rootDir is /proc.
type rootDir struct {
	folder

	view   *View
	recent recent
}

// list returns the names in the real procfs. On the front end ghosts stand for remote processes; on
// a node the remote processes are not in it.
func (d *rootDir) list(ctx context.Context, position uint64) ([]entry, unix.Errno) {
	if entries, ok := d.recent.goOn(position); ok {
		return entries, 0
	}
	held := d.view.scout != nil && d.view.news.hold()
	if held {
		defer d.view.news.release()
	}
	d.view.refresh(ctx)
	listing := d.recent.begin()
	entries, errno := d.view.real.list(".")
	if errno != 0 {
		return nil, errno
	}
	if d.view.cfg.Local != nil {
		entries = d.elsewhere(entries)
	}
	entries = numbersLast(append(entries, entry{name: own, mode: unix.S_IFDIR}))
	d.recent.keep(listing, entries)
	d.view.meet(ctx, entries...)
	if d.view.scout != nil && d.view.manyCold(entries) {
		d.view.warmer.want(ctx, held)
	}
	return entries, 0
}

// elsewhere returns the names where there are no ghosts, but some of the processes themselves.
func (d *rootDir) elsewhere(have []entry) []entry {
	entries := slices.DeleteFunc(have, func(e entry) bool {
		pid := number(e.name)
		return pid != 0 && !d.view.present(pid)
	})
	for _, pid := range d.view.remote() {
		entries = append(entries, entry{name: pid.String(), mode: unix.S_IFDIR})
	}
	return entries
}

func (d *rootDir) lookup(ctx context.Context, self uint64, name string, _ fuse.Owner) (*inode, time.Duration, unix.Errno) {
	if name == own {
		return d.view.table.at(place{self, name}, func() file { return newOwnDir(d.view) }), forEver, 0
	}
	if number(name) != 0 {
		if !d.view.preparer.asks(ctx) {
			d.view.refresh(ctx)
		}
		if !d.has(name) {
			return nil, 0, unix.ENOENT
		}
		d.view.meet(ctx, entry{name: name})
		return d.process(self, name), d.view.keep(number(name)), 0
	}
	if _, errno := d.view.real.stat(name); errno != 0 {
		return nil, 0, unix.ENOENT
	}
	to := &pointer{text: d.view.passage(0) + name, since: d.view.since}
	return d.view.table.at(place{self, name}, func() file { return to }), forEver, 0
}

// has reports whether a process with that number is shown: a remote one, or one of this machine.
func (d *rootDir) has(name string) bool {
	p := d.view.process(number(name))
	if p != nil && !p.Here {
		return true
	}
	_, errno := d.view.real.stat(name)
	return errno == 0 && (p != nil || d.view.present(number(name)))
}

// process returns the directory of a process.
func (d *rootDir) process(self uint64, name string) *inode {
	return d.view.table.at(place{self, name}, func() file {
		if p := d.view.process(number(name)); p != nil {
			return &processDir{d.view, p.PID, p.born}
		}
		return &localDir{d.view, name, time.Now()}
	})
}

// brief implements [briefed].
func (d *rootDir) brief(self uint64, e entry) (*inode, time.Duration) {
	if number(e.name) == 0 || d.view.cfg.Local != nil && !d.has(e.name) {
		return nil, 0 // else it exists, or its attributes will turn out to be missing
	}
	return d.process(self, e.name), d.view.keep(number(e.name))
}

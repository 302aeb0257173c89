package procfs

import (
	"context"
	"strconv"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// ownDir is /proc/bproc.
type ownDir struct {
	folder

	view *View
}

func newOwnDir(v *View) *ownDir { return &ownDir{folder{mode: 0o555, since: v.since}, v} }

// ownNames are the names in an ownDir.
var ownNames = inOrder(dots, []entry{{name: "nodes", mode: unix.S_IFDIR}, {name: passage, mode: unix.S_IFDIR}})

func (d *ownDir) list(context.Context, uint64) ([]entry, unix.Errno) { return ownNames, 0 }

func (d *ownDir) lookup(_ context.Context, self uint64, name string, _ fuse.Owner) (*inode, time.Duration, unix.Errno) {
	var make func() file
	switch name {
	case passage:
		make = func() file { return &emptyDir{folder{mode: 0o555, since: d.view.since}} }
	case "nodes":
		make = func() file { return &nodesDir{folder: folder{mode: 0o555, since: d.view.since}, view: d.view} }
	default:
		return nil, 0, unix.ENOENT
	}
	return d.view.table.at(place{self, name}, make), forEver, 0
}

// emptyDir is the directory that the real procfs is mounted on.
type emptyDir struct{ folder }

func (d *emptyDir) list(context.Context, uint64) ([]entry, unix.Errno) { return nil, 0 }

func (d *emptyDir) lookup(context.Context, uint64, string, fuse.Owner) (*inode, time.Duration, unix.Errno) {
	return nil, 0, unix.ENOENT
}

// nodesDir is /proc/bproc/nodes.
type nodesDir struct {
	folder

	view   *View
	recent recent
}

func (d *nodesDir) list(ctx context.Context, position uint64) ([]entry, unix.Errno) {
	if entries, ok := d.recent.goOn(position); ok {
		return entries, 0
	}
	listing := d.recent.begin()
	nodes, err := d.view.source.Nodes(ctx)
	if err != nil {
		return nil, errnoOf(err)
	}
	entries := make([]entry, len(nodes))
	for i, n := range nodes {
		entries[i] = entry{name: n.ID.String(), mode: unix.S_IFDIR}
	}
	entries = numbersLast(entries)
	d.recent.keep(listing, entries)
	return entries, 0
}

func (d *nodesDir) lookup(ctx context.Context, self uint64, name string, _ fuse.Owner) (*inode, time.Duration, unix.Errno) {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil || strconv.FormatInt(id, 10) != name {
		return nil, 0, unix.ENOENT
	}
	nodes, err := d.view.source.Nodes(ctx)
	if err != nil {
		return nil, 0, errnoOf(err)
	}
	for _, n := range nodes {
		if n.ID == wire.NodeID(id) {
			dir := &nodeDir{folder{mode: 0o555, since: d.view.since}, d.view, n}
			return d.view.table.add(dir), 0, 0
		}
	}
	return nil, 0, unix.ENOENT
}

// nodeDir is /proc/bproc/nodes/N.
type nodeDir struct {
	folder

	view *View
	node Node
}

// nodeFiles are the names in a nodeDir, except state.
var nodeFiles = inOrder(dots+1, []entry{
	{name: "cpuinfo", mode: unix.S_IFREG},
	{name: "diskstats", mode: unix.S_IFREG},
	{name: "filesystems", mode: unix.S_IFREG},
	{name: "interrupts", mode: unix.S_IFREG},
	{name: "loadavg", mode: unix.S_IFREG},
	{name: "meminfo", mode: unix.S_IFREG},
	{name: "net", mode: unix.S_IFDIR},
	{name: "partitions", mode: unix.S_IFREG},
	{name: "pressure", mode: unix.S_IFDIR},
	{name: "schedstat", mode: unix.S_IFREG},
	{name: "softirqs", mode: unix.S_IFREG},
	{name: "stat", mode: unix.S_IFREG},
	{name: "swaps", mode: unix.S_IFREG},
	{name: "uptime", mode: unix.S_IFREG},
	{name: "version", mode: unix.S_IFREG},
	{name: "vmstat", mode: unix.S_IFREG},
})

func (d *nodeDir) list(context.Context, uint64) ([]entry, unix.Errno) {
	return append([]entry{{"state", unix.S_IFREG, dots + 1}}, nodeFiles...), 0
}

func (d *nodeDir) lookup(_ context.Context, self uint64, name string, who fuse.Owner) (*inode, time.Duration, unix.Errno) {
	if name == "state" {
		state := &text{content: []byte(d.node.State + "\n"), mode: 0o444, since: d.view.since}
		return d.view.table.add(state), 0, 0
	}
	for _, e := range nodeFiles {
		if e.name != name {
			continue
		}
		mode := e.mode | 0o444
		if e.mode == unix.S_IFDIR {
			mode |= 0o111
		}
		return d.view.fetch(place{self, name}, who, ofNode{d.view.source, d.node.ID, d.view.since}, name, mode), 0, 0
	}
	return nil, 0, unix.ENOENT
}

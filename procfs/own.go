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

func (d *ownDir) list(context.Context) ([]entry, unix.Errno) {
	return []entry{{"nodes", unix.S_IFDIR}, {passage, unix.S_IFDIR}}, 0
}

func (d *ownDir) lookup(_ context.Context, self uint64, name string, _ fuse.Owner) (*inode, time.Duration, unix.Errno) {
	var make func() file
	switch name {
	case passage:
		make = func() file { return &emptyDir{folder{mode: 0o555, since: d.view.since}} }
	case "nodes":
		make = func() file { return &nodesDir{folder{mode: 0o555, since: d.view.since}, d.view} }
	default:
		return nil, 0, unix.ENOENT
	}
	return d.view.table.at(place{self, name}, make), forEver, 0
}

// emptyDir is the directory that the real procfs is mounted on.
type emptyDir struct{ folder }

func (d *emptyDir) list(context.Context) ([]entry, unix.Errno) { return nil, 0 }

func (d *emptyDir) lookup(context.Context, uint64, string, fuse.Owner) (*inode, time.Duration, unix.Errno) {
	return nil, 0, unix.ENOENT
}

// nodesDir is /proc/bproc/nodes.
type nodesDir struct {
	folder

	view *View
}

func (d *nodesDir) list(ctx context.Context) ([]entry, unix.Errno) {
	nodes, err := d.view.source.Nodes(ctx)
	var entries []entry
	for _, n := range nodes {
		entries = append(entries, entry{n.ID.String(), unix.S_IFDIR})
	}
	return entries, errnoOf(err)
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
var nodeFiles = []entry{
	{"cpuinfo", unix.S_IFREG},
	{"diskstats", unix.S_IFREG},
	{"filesystems", unix.S_IFREG},
	{"interrupts", unix.S_IFREG},
	{"loadavg", unix.S_IFREG},
	{"meminfo", unix.S_IFREG},
	{"net", unix.S_IFDIR},
	{"partitions", unix.S_IFREG},
	{"pressure", unix.S_IFDIR},
	{"schedstat", unix.S_IFREG},
	{"softirqs", unix.S_IFREG},
	{"stat", unix.S_IFREG},
	{"swaps", unix.S_IFREG},
	{"uptime", unix.S_IFREG},
	{"version", unix.S_IFREG},
	{"vmstat", unix.S_IFREG},
}

func (d *nodeDir) list(context.Context) ([]entry, unix.Errno) {
	return append([]entry{{"state", unix.S_IFREG}}, nodeFiles...), 0
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

package procfs

import (
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// inode is a file under the number by which the kernel knows it.
type inode struct {
	id      uint64
	file    file
	place   place  // zero: none that another lookup would find
	lookups uint64 // how often the kernel was told; guarded by table.mu
}

// place is where an inode is found.
type place struct {
	parent uint64
	name   string
}

// rootID is the number of the root's inode.
const rootID = fuse.FUSE_ROOT_ID

// table has the inodes that the kernel knows. What is shown is never changed: a new
// version of a file is another inode, so that who is reading the old one goes on
// with it.
type table struct {
	mu     sync.Mutex
	byID   map[uint64]*inode
	placed map[place]*inode
	last   uint64
}

func newTable(root file) *table {
	t := &table{byID: map[uint64]*inode{}, placed: map[place]*inode{}, last: fuse.FUSE_ROOT_ID}
	t.byID[fuse.FUSE_ROOT_ID] = &inode{id: fuse.FUSE_ROOT_ID, file: root, lookups: 1}
	return t
}

// find returns the inode with a number, or nil.
func (t *table) find(id uint64) *inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// at returns the inode of a place, counting a lookup by the kernel. If there is none,
// it is one of the file that is returned by make. What make finds out is true when the
// inode is there: who changes it and calls vacate then, finds the inode.
func (t *table) at(p place, make func() file) *inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.placed[p]
	if n == nil {
		n = t.addLocked(make())
		n.place = p
		t.placed[p] = n
	}
	n.lookups++
	return n
}

// add returns an inode that no other lookup finds, counting a lookup by the kernel.
func (t *table) add(f file) *inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.addLocked(f)
	n.lookups++
	return n
}

func (t *table) addLocked(f file) *inode {
	t.last++
	n := &inode{id: t.last, file: f}
	t.byID[n.id] = n
	return n
}

// vacate makes the next lookup of a place find another inode than the last one, and
// reports whether the kernel may know that.
func (t *table) vacate(p place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.placed[p]
	if n == nil {
		return false
	}
	delete(t.placed, p)
	n.place = place{}
	return true
}

// placedAt returns the inode of a place, nil if there is none.
func (t *table) placedAt(p place) *inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.placed[p]
}

// known returns the number of the inode of a place, 0 if there is none.
func (t *table) known(p place) uint64 {
	if n := t.placedAt(p); n != nil {
		return n.id
	}
	return 0
}

// forget takes back lookups.
func (t *table) forget(id, lookups uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byID[id]
	if n == nil || id == fuse.FUSE_ROOT_ID {
		return
	}
	if n.lookups > lookups {
		n.lookups -= lookups
		return
	}
	delete(t.byID, id)
	if n.place != (place{}) {
		delete(t.placed, n.place)
	}
}

// size returns how many inodes the kernel knows.
func (t *table) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

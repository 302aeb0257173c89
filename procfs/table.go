package procfs

import (
	"strconv"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// inode is a file with the number by which the kernel knows it.
type inode struct {
	id      uint64
	file    file
	place   place  // zero: no other lookup finds it
	lookups uint64 // number of lookups by the kernel; guarded by table.mu
}

// place is a name in a directory.
type place struct {
	parent uint64
	name   string
}

// forUser returns the place of a file that is fetched for one user. No name has a slash, so no other
// file has that place.
func (p place) forUser(uid uint32) place {
	p.name += "/" + strconv.FormatUint(uint64(uid), 10)
	return p
}

// rootID is the number of the root's inode.
const rootID = fuse.FUSE_ROOT_ID

// table has the inodes that the kernel knows. Files never change: a new version of a file is
// another inode, so that readers of the old one go on with it.
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

// at returns the inode of a place, and counts a lookup by the kernel. If there is none, it makes
// one with the file that make returns. make runs with the table locked: a goroutine that changes
// the file's source and then calls vacate finds the inode.
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

// add returns an inode that no other lookup finds, and counts a lookup by the kernel.
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

// vacate makes the next lookup of a place return a new inode, and reports whether the kernel may
// know the old one.
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

// placedAt returns the inode of a place; nil if there is none.
func (t *table) placedAt(p place) *inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.placed[p]
}

// known returns the number of the inode of a place; 0 if there is none.
func (t *table) known(p place) uint64 {
	if n := t.placedAt(p); n != nil {
		return n.id
	}
	return 0
}

// forget takes back lookups by the kernel.
func (t *table) forget(id, lookups uint64) {
	if n := t.forgotten(id, lookups); n != nil {
		if f, ok := n.file.(interface{ forgotten() }); ok {
			f.forgotten()
		}
	}
}

// forgotten returns the inode if the kernel does not know it any more.
func (t *table) forgotten(id, lookups uint64) *inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byID[id]
	if n == nil || id == fuse.FUSE_ROOT_ID {
		return nil
	}
	if n.lookups > lookups {
		n.lookups -= lookups
		return nil
	}
	delete(t.byID, id)
	if n.place != (place{}) {
		delete(t.placed, n.place)
	}
	return n
}

// size returns the number of inodes that the kernel knows.
func (t *table) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

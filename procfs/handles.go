package procfs

import (
	"sync"
	"unsafe"
)

// handles are the open directories.
type handles struct {
	mu   sync.Mutex
	open map[uint64]*listing
	last uint64
}

// listing is an open directory, with its latest entries.
type listing struct {
	dir  directory
	mu   sync.Mutex
	read bool // entries have been read
	list []entry

	free func() // what is kept of list
}

// size returns the memory that the entries take, in bytes. Most names are constants.
func (l *listing) size() (size int) {
	for _, e := range l.list {
		size += int(unsafe.Sizeof(e)) + len(e.name)
	}
	return size
}

func (h *handles) add(l *listing) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[uint64]*listing{}
	}
	h.last++
	h.open[h.last] = l
	return h.last
}

func (h *handles) find(fh uint64) *listing {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open[fh]
}

func (h *handles) remove(fh uint64) {
	l := h.find(fh)
	h.mu.Lock()
	delete(h.open, fh)
	h.mu.Unlock()
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.free()
	}
}

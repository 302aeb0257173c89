package procfs

import "sync"

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
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, fh)
}

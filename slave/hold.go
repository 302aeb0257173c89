package slave

import "sync"

// hold holds the processes of the space for as long as anybody wants it.
type hold struct {
	freeze func() error
	thaw   func() error

	mu    sync.Mutex
	takes int // without a release
	count uint64
}

// take holds the processes. Each call is followed by one of release, even if it fails.
func (h *hold) take() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.takes++
	if h.takes > 1 {
		return nil
	}
	h.count++
	return h.freeze()
}

// counted counts how often the processes were held and let go: while it is odd, they
// are held.
func (h *hold) counted() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// release lets the processes go on if nobody else wants them held.
func (h *hold) release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.takes--
	if h.takes > 0 {
		return nil
	}
	h.count++
	return h.thaw()
}

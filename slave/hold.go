package slave

import "sync"

// hold holds the processes of the space for as long as anybody wants it.
type hold struct {
	freeze func() error
	thaw   func() error

	mu    sync.Mutex
	takes int // without a release
}

// take holds the processes. Each call is followed by one of release, even if it fails.
func (h *hold) take() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.takes++
	if h.takes > 1 {
		return nil
	}
	return h.freeze()
}

// release lets the processes go on if nobody else wants them held.
func (h *hold) release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.takes--
	if h.takes > 0 {
		return nil
	}
	return h.thaw()
}

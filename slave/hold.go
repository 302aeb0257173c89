package slave

import (
	"sync"
	"time"
)

// hold holds the processes of the space for as long as anybody wants it.
type hold struct {
	freeze func() error
	frozen func() (bool, error) // whether all are held by now
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

// maxFreezing is how long takeAll waits for those that cannot be held at once. One that
// waits for an answer of the front end may take for ever.
const maxFreezing = 50 * time.Millisecond

// takeAll is take, and waits until all are held, if that does not take long.
func (h *hold) takeAll() (all bool, err error) {
	err = h.take()
	for begun := time.Now(); err == nil && !all && time.Since(begun) < maxFreezing; {
		if all, err = h.frozen(); !all {
			time.Sleep(time.Millisecond)
		}
	}
	return all, err
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

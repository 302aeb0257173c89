package slave

import (
	"sync"
	"time"
)

// hold holds the processes of the space while at least one caller wants that.
type hold struct {
	freeze func() error
	frozen func() (bool, error) // whether all are held by now
	thaw   func() error

	mu    sync.Mutex
	takes int // calls of take without a release
	count uint64
}

// take holds the processes. Each call needs a later call of release, even if it fails.
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

// counted returns how often the processes were held and let go. While it is odd, they are held.
func (h *hold) counted() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// maxFreezing is how long takeAll waits for processes that cannot be held at once. A process that
// waits for an answer of the front end may take forever.
const maxFreezing = 50 * time.Millisecond

// takeAll is take, and waits up to maxFreezing until all processes are held.
func (h *hold) takeAll() (all bool, err error) {
	err = h.take()
	for begun := time.Now(); err == nil && !all && time.Since(begun) < maxFreezing; {
		if all, err = h.frozen(); !all {
			time.Sleep(time.Millisecond)
		}
	}
	return all, err
}

// release lets the processes go on unless another caller wants them held.
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

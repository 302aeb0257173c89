package link

import (
	"sync"
	"time"
)

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// readers are the streams of a session that have a waiting reader. When the session has ended, a
// deadline wakes them: yamux itself would have each of them spin, on all processors, until it has
// closed the last stream, which takes long with thousands of them.
type readers struct {
	mu      sync.Mutex
	waiting map[*muxed]bool
	over    bool
}

func (r *readers) enter(m *muxed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[*muxed]bool{}
	}
	r.waiting[m] = true
	if r.over {
		_ = m.SetReadDeadline(past) // cannot fail
	}
}

func (r *readers) leave(m *muxed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, m)
}

// end wakes all readers. Later readers get the bytes that are left, and then the end.
func (r *readers) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for m := range r.waiting {
		_ = m.SetReadDeadline(past) // cannot fail
	}
}

func (r *readers) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

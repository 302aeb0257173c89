package link

import (
	"sync"
	"time"
)

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// readers are the streams of a session on which somebody waits to read. When the session has ended,
// they are woken by a deadline: yamux by itself has each of them spin, on all processors, until
// it has closed the last stream, which takes long where they are thousands.
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
		_ = m.SetReadDeadline(past) // it cannot fail
	}
}

func (r *readers) leave(m *muxed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, m)
}

// end wakes all readers. Those that come later find what was there before, and then the end.
func (r *readers) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for m := range r.waiting {
		_ = m.SetReadDeadline(past) // it cannot fail
	}
}

func (r *readers) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

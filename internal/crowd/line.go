package crowd

import (
	"slices"
	"sync"
	"time"
)

// Line holds connections whose peers have proved nothing yet. It serves a bounded number at a time,
// and the others wait: when thousands come at once, each has its turn, and none is turned away for
// later ones. The next to serve is the oldest from the origin with the fewest served connections.
//
// A served connection is turned away for a waiting one only if its place is not fair: it has been
// served for longer than patience, or its origin has at least two more served connections than the
// other's. So a silent peer keeps nobody else out. If too many wait, those from the origin with the
// most waiting connections are turned away.
type Line[K comparable] struct {
	most, room int
	patience   time.Duration

	mu      sync.Mutex
	served  []*guest[K]       // the oldest first
	from    map[K]int         // number served, by origin
	inside  int               // served, and turned away but not left
	places  []K               // origins of waiting connections, in turn
	waiting map[K][]*guest[K] // the oldest first
	waits   int               // number waiting
	timer   *time.Timer       // fires when the patience with a served connection ends
	closed  bool
}

type guest[K comparable] struct {
	from  K
	since time.Time // start of service
	serve func(leave func())
	turn  func()
}

// NewLine returns a Line that serves up to most connections at a time, each for patience if others
// wait, and lets up to room connections wait.
func NewLine[K comparable](most, room int, patience time.Duration) *Line[K] {
	return &Line[K]{most: max(most, 1), room: room, patience: patience, from: map[K]int{}, waiting: map[K][]*guest[K]{}}
}

// Enter adds a connection. It calls serve when the connection's turn has come. turnAway is called
// if the connection must go, perhaps while another goroutine serves it. Neither function may block
// or call leave. leave must be called for each served connection, soon if it was turned away; it
// may be called again.
func (l *Line[K]) Enter(from K, serve func(leave func()), turnAway func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		turnAway()
		return
	}
	if len(l.waiting[from]) == 0 {
		l.places = append(l.places, from)
	}
	l.waiting[from] = append(l.waiting[from], &guest[K]{from: from, serve: serve, turn: turnAway})
	l.waits++
	l.serveLocked()
	if l.waits > l.room {
		l.shortenLocked()
	}
}

// Close turns away waiting and future connections.
func (l *Line[K]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	for l.waits > 0 {
		l.shortenLocked()
	}
}

// serveLocked serves as many connections as possible.
func (l *Line[K]) serveLocked() {
	for l.waits > 0 && !l.closed && l.inside < 2*l.most {
		at := l.nextLocked()
		if len(l.served) >= l.most && !l.makeRoomLocked(l.places[at]) {
			return
		}
		g := l.takeLocked(at)
		g.since = time.Now()
		l.served = append(l.served, g)
		l.from[g.from]++
		l.inside++
		g.serve(sync.OnceFunc(func() { l.leave(g) }))
	}
}

// nextLocked returns the origin of the next connection to serve, as an index of places.
func (l *Line[K]) nextLocked() (at int) {
	for i, place := range l.places {
		switch {
		case l.from[place] == 0:
			return i
		case l.from[place] < l.from[l.places[at]]:
			at = i
		}
	}
	return at
}

// takeLocked removes the oldest waiting connection of an origin. The origin's next turn comes after
// all others.
func (l *Line[K]) takeLocked(at int) *guest[K] {
	place := l.places[at]
	g := l.waiting[place][0]
	l.waiting[place] = l.waiting[place][1:]
	l.waits--
	l.places = slices.Delete(l.places, at, at+1)
	if len(l.waiting[place]) > 0 {
		l.places = append(l.places, place)
	} else {
		delete(l.waiting, place)
	}
	return g
}

// makeRoomLocked turns away a served connection for one from a given origin, and reports whether it
// did.
func (l *Line[K]) makeRoomLocked(place K) bool {
	goes := l.served[0]
	left := l.patience - time.Since(goes.since)
	if left > 0 {
		for _, g := range l.served {
			if l.from[g.from] > l.from[goes.from] {
				goes = g
			}
		}
		if l.from[goes.from] <= l.from[place]+1 {
			l.waitLocked(left)
			return false
		}
	}
	l.endLocked(goes)
	goes.turn()
	return true
}

// waitLocked serves connections after a time, unless one leaves before.
func (l *Line[K]) waitLocked(left time.Duration) {
	if l.timer != nil {
		l.timer.Reset(left)
		return
	}
	l.timer = time.AfterFunc(left, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.serveLocked()
	})
}

// shortenLocked turns away the newest connection of the origin with the most waiting connections.
func (l *Line[K]) shortenLocked() {
	at := 0
	for i, place := range l.places {
		if len(l.waiting[place]) > len(l.waiting[l.places[at]]) {
			at = i
		}
	}
	place := l.places[at]
	last := len(l.waiting[place]) - 1
	goes := l.waiting[place][last]
	l.waiting[place] = l.waiting[place][:last]
	l.waits--
	if last == 0 {
		l.places = slices.Delete(l.places, at, at+1)
		delete(l.waiting, place)
	}
	goes.turn()
}

func (l *Line[K]) leave(g *guest[K]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(g)
	l.inside--
	l.serveLocked()
}

// endLocked removes a connection from the served ones.
func (l *Line[K]) endLocked(g *guest[K]) {
	i := slices.Index(l.served, g)
	if i < 0 {
		return
	}
	l.served = slices.Delete(l.served, i, i+1)
	if l.from[g.from]--; l.from[g.from] == 0 {
		delete(l.from, g.from)
	}
}

package crowd

import (
	"slices"
	"sync"
	"time"
)

// Line is connections whose other end has proved nothing yet. So many are served at a time, and
// the others wait: when thousands come at the same moment, each has its turn, and none is turned
// away for those behind it. The next is one from where the fewest are served, the oldest of these.
//
// One that is served is turned away for one that waits only if it is not fair that it has the
// place: it has had it for longer than patience, or from where it comes more are served than from
// where the other does, by two or more. So one peer that says nothing keeps nobody else out, and
// of too many that wait those are turned away that come from where most do.
type Line[K comparable] struct {
	most, room int
	patience   time.Duration

	mu      sync.Mutex
	served  []*guest[K]       // the oldest first
	from    map[K]int         // how many are served, for each place
	inside  int               // served, or turned away and not left yet
	places  []K               // where those come from that wait, in turn
	waiting map[K][]*guest[K] // the oldest first
	waits   int               // how many
	timer   *time.Timer       // for the patience with one that is served
	closed  bool
}

type guest[K comparable] struct {
	from  K
	since time.Time // served
	serve func(leave func())
	turn  func()
}

// NewLine returns a Line in which at most so many are served at a time, for so long if others
// wait, and so many wait.
func NewLine[K comparable](most, room int, patience time.Duration) *Line[K] {
	return &Line[K]{most: max(most, 1), room: room, patience: patience, from: map[K]int{}, waiting: map[K][]*guest[K]{}}
}

// Enter adds a connection. serve is called when it is its turn, and turnAway, by another
// goroutine than that which serves it, if it has to go; neither may block, nor call leave. When it
// was served, leave must be called, which may be done again; when it was turned away then, soon.
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

// Close turns away who waits, and who comes from now on.
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

// serveLocked serves as many as it can.
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

// nextLocked returns from which place the next is served.
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

// takeLocked takes the oldest from a place out of those that wait. The place has its next turn
// after all others.
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

// makeRoomLocked turns away one that is served, for one from a place. It reports whether there is
// one that has to go.
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

// waitLocked has somebody served later, when nobody leaves before.
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

// shortenLocked turns away the last from where most wait.
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

// endLocked takes one out of those that are served.
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

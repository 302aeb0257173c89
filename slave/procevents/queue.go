package procevents

import (
	"slices"
	"time"

	"bproc/wire"
)

// step is the kind of an item of the queue.
type step uint8

const (
	birth  step = iota // report that the process was born
	change             // report its program, group, session and credentials
	turn               // report one change of group, session or credentials
	word               // report the event as it is
	end                // report that it has ended
)

type item struct {
	process *process
	step    step
	event   wire.Event // of a word
	to      traits     // of a turn
	by      *process   // of a turn: the parent, which may have caused it
	since   time.Time
	at      uint64 // see Tracker.Position
}

// queue holds items in the order in which things happened. They leave it in the same order.
type queue struct {
	items  []item
	urgent int // so many items at the front are urgent
}

func (q *queue) push(it item) { q.items = append(q.items, it) }

// hurry makes all items urgent.
func (q *queue) hurry() { q.urgent = len(q.items) }

// pop removes and returns the first item.
func (q *queue) pop() (item, bool) {
	if len(q.items) == 0 {
		return item{}, false
	}
	it := q.items[0]
	q.items[0] = item{}
	q.items = q.items[1:]
	q.urgent = max(q.urgent-1, 0)
	return it, true
}

// hold is how long items are held: those that are urgent, and others.
type hold struct{ urgent, others time.Duration }

// dueAt returns when item i is due.
func (q *queue) dueAt(i int, h hold) time.Time {
	if i < q.urgent {
		return q.items[i].since.Add(h.urgent)
	}
	return q.items[i].since.Add(h.others)
}

// due returns the items that are due.
func (q *queue) due(now time.Time, h hold) []item {
	n := 0
	for n < len(q.items) && !q.dueAt(n, h).After(now) {
		n++
	}
	return q.items[:n]
}

// popDue pops the first item if it is due.
func (q *queue) popDue(now time.Time, h hold) (item, bool) {
	if len(q.items) == 0 || q.dueAt(0, h).After(now) {
		return item{}, false
	}
	return q.pop()
}

// joins reports whether the queue still has to report that a process is in a group, which lives or
// was seen to join it.
func (q *queue) joins(pgid wire.PID) bool {
	return slices.ContainsFunc(q.items, func(it item) bool {
		p := it.process
		return it.step == turn && it.to.pgid == pgid || (it.step == birth || it.step == change) && !p.dead && p.traits.pgid == pgid && p.front.pgid != pgid
	})
}

// next returns when the first item that will have an effect is due.
func (q *queue) next(h hold) (time.Time, bool) {
	for len(q.items) > 0 && q.items[0].process.gone {
		q.pop()
	}
	if len(q.items) == 0 {
		return time.Time{}, false
	}
	return q.dueAt(0, h), true
}

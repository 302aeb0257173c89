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
	urgent int // so many items at the front are not held any longer
}

func (q *queue) push(it item) { q.items = append(q.items, it) }

// hurry ends the hold of all items.
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

// due returns the items that have been held since then, or longer, or are not held.
func (q *queue) due(then time.Time) []item {
	n := q.urgent
	for n < len(q.items) && !q.items[n].since.After(then) {
		n++
	}
	return q.items[:n]
}

// popDue pops the first item if it is due.
func (q *queue) popDue(then time.Time) (item, bool) {
	if len(q.items) == 0 || q.urgent == 0 && q.items[0].since.After(then) {
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

// next returns when the first item that will have an effect is due, with a hold time; now if it is not held.
func (q *queue) next(hold time.Duration, now time.Time) (time.Time, bool) {
	for len(q.items) > 0 && q.items[0].process.gone {
		q.pop()
	}
	if len(q.items) == 0 {
		return time.Time{}, false
	}
	if q.urgent > 0 {
		return now, true
	}
	return q.items[0].since.Add(hold), true
}

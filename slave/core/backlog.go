package core

import "time"

// maxBehind is the number of events by which the front end may be behind. Beyond that all processes
// of the space are held until it has caught up with half of them. So what the front end has to make
// up for is bounded, whatever the processes do.
const maxBehind = 20_000

// maxArgumentsBehind is the same for the memory of the command lines that are kept until then, in
// bytes: one command line can take over a MiB.
const maxArgumentsBehind = 64 << 20

// MinHold is how long births are held back, at least. Most programs that a compilation or a script
// starts have ended by then, and the front end need not hear of them. What is said, and what happens
// to processes that the front end knows, is not held back.
const MinHold = 50 * time.Millisecond

// Births are held back longer while the front end is behind by more than littleBehind, up to
// maxHold when it is behind by half of maxBehind: the front end need not make up for a process that
// ends before its birth is reported.
const (
	littleBehind = 1024
	maxHold      = 200 * time.Millisecond
)

// backlog is what the front end has to make up for.
type backlog struct {
	last   uint64 // last event reported
	done   uint64 // last event that the front end is done with
	frozen bool   // the processes are held
	ending bool   // all processes were killed; they are not held, since frozen ones do not die
}

func (b *backlog) by() uint64 { return max(b.last, b.done) - b.done }

// HoldBack returns how long births must be held back now.
func (c *Core) HoldBack() time.Duration {
	const all = maxBehind/2 - littleBehind
	by := min(max(c.backlog.by(), littleBehind)-littleBehind, all)
	return MinHold + (maxHold-MinHold)*time.Duration(by)/all
}

// toldUpTo takes in the number of the last event that was reported.
func (c *Core) toldUpTo(last uint64) {
	c.backlog.last = last
	c.follow()
}

// follow holds the processes while the front end is too far behind, and lets them go on after that.
func (c *Core) follow() {
	b := &c.backlog
	switch by, arguments := b.by(), c.events.arguments; {
	case (by > maxBehind || arguments > maxArgumentsBehind) && !b.frozen && !b.ending:
		b.frozen = true
		c.log.Warn("the front end does not follow; the node's processes are held until it has caught up", "events", by)
		c.emit(Hold{})
	case by <= maxBehind/2 && arguments <= maxArgumentsBehind/2:
		b.ending = false
		c.letGo()
	}
}

// letGo lets the processes go on if they are held.
func (c *Core) letGo() {
	if c.backlog.frozen {
		c.backlog.frozen = false
		c.emit(LetGo{})
	}
}

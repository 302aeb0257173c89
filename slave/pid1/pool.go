package pid1

import (
	"slices"
	"time"
)

// pool is the forkers of one session in one cgroup, guarded by standins.mu.
type pool struct {
	members map[*sleeper]bool
	making  int // forkers that are being made
	idle    []idleForker
	freed   chan struct{} // signals that there may be an idle one
	moved   time.Time     // when there last was one, or a new one was allowed
}

type idleForker struct {
	*sleeper
	since time.Time
}

func newPool() *pool {
	return &pool{members: make(map[*sleeper]bool), freed: make(chan struct{}, 1)}
}

// takeLocked returns the forker that was busy last.
func (p *pool) takeLocked() *sleeper {
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	f := p.idle[last].sleeper
	p.idle = p.idle[:last]
	if last > 0 {
		p.tell()
	}
	return f
}

// growLocked reports whether to make a forker: there are few, or all are held up.
func (p *pool) growLocked(now time.Time) bool {
	if len(p.members)+p.making >= forkersAtOnce && now.Sub(p.moved) < forkerPatience {
		return false
	}
	p.moved = now
	p.making++
	return true
}

// putLocked takes back a forker that is idle, if it is still a member.
func (p *pool) putLocked(f *sleeper) {
	f.errand = errand{}
	p.moved = time.Now()
	if p.members[f] {
		p.idle = append(p.idle, idleForker{f, time.Now()})
		p.tell()
	}
}

// forgetLocked removes a forker that ends.
func (p *pool) forgetLocked(f *sleeper) {
	delete(p.members, f)
	p.idle = slices.DeleteFunc(p.idle, func(i idleForker) bool { return i.sleeper == f })
}

// tell wakes one goroutine that waits for an idle forker.
func (p *pool) tell() {
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

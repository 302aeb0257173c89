package crowd

import (
	"slices"
	"sync"
)

// Crowd is the connections that have not said anything, by where they come from.
type Crowd[K comparable] struct {
	most int

	mu      sync.Mutex
	members []*member[K] // the oldest first
	from    map[K]int    // how many, for each place
	inside  int          // members, and those who had to go and have not left yet
	left    sync.Cond    // somebody has
}

type member[K comparable] struct {
	from K
	turn func()
}

// New returns a Crowd of at most so many connections.
func New[K comparable](most int) *Crowd[K] {
	c := &Crowd[K]{most: max(most, 1), from: map[K]int{}}
	c.left.L = &c.mu
	return c
}

// Enter adds a connection. turnAway is called, at most once and by another goroutine,
// if it has to go: leave must be called soon after that, for no more enter while as
// many have not left as there may be members. turnAway must not block; leave may be
// called again.
func (c *Crowd[K]) Enter(from K, turnAway func()) (leave func()) {
	m := &member[K]{from, turnAway}
	c.mu.Lock()
	for c.inside >= 2*c.most {
		c.left.Wait()
	}
	c.inside++
	c.members = append(c.members, m)
	c.from[from]++
	var goes *member[K]
	if len(c.members) > c.most {
		goes = c.oldestLocked()
		c.removeLocked(goes)
	}
	c.mu.Unlock()
	if goes != nil {
		goes.turn()
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.removeLocked(m)
		c.inside--
		c.left.Signal()
	})
}

// oldestLocked returns the oldest member from where most come.
func (c *Crowd[K]) oldestLocked() *member[K] {
	oldest := c.members[0]
	for _, m := range c.members {
		if c.from[m.from] > c.from[oldest.from] {
			oldest = m
		}
	}
	return oldest
}

func (c *Crowd[K]) removeLocked(m *member[K]) {
	i := slices.Index(c.members, m)
	if i < 0 {
		return
	}
	c.members = slices.Delete(c.members, i, i+1)
	if c.from[m.from]--; c.from[m.from] == 0 {
		delete(c.from, m.from)
	}
}

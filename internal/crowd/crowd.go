package crowd

import (
	"slices"
	"sync"
)

// Crowd holds the connections whose peers have not sent anything yet, by their origin.
type Crowd[K comparable] struct {
	most int

	mu      sync.Mutex
	members []*member[K] // the oldest first
	from    map[K]int    // number of members, by origin
	inside  int          // members, and connections that were turned away but have not left
	left    sync.Cond    // signalled when one leaves
}

type member[K comparable] struct {
	from K
	turn func()
}

// New returns a Crowd with a limit of most connections.
func New[K comparable](most int) *Crowd[K] {
	c := &Crowd[K]{most: max(most, 1), from: map[K]int{}}
	c.left.L = &c.mu
	return c
}

// Enter adds a connection. If the connection must go, another goroutine calls turnAway, at most
// once, and leave must be called soon after: once as many connections have been turned away without
// leaving as there may be members, Enter blocks. turnAway must not block. leave may be called
// again.
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

// oldestLocked returns the oldest member from the origin with the most members.
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

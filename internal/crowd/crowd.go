// Package crowd bounds connections whose other end has not proved yet that it wants
// anything. When there are too many, the oldest of whoever has most of them goes: so
// one peer that opens many and says nothing keeps nobody else out, and descriptors do
// not run out.
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
	turned  uint64       // how many had to go
}

type member[K comparable] struct {
	from K
	turn func()
}

// New returns a Crowd of at most so many connections.
func New[K comparable](most int) *Crowd[K] {
	return &Crowd[K]{most: max(most, 1), from: map[K]int{}}
}

// Enter adds a connection. turnAway is called, at most once and by another goroutine,
// if it has to go before leave is called; it must not block. Leave may be called again.
func (c *Crowd[K]) Enter(from K, turnAway func()) (leave func()) {
	m := &member[K]{from, turnAway}
	c.mu.Lock()
	c.members = append(c.members, m)
	c.from[from]++
	var goes *member[K]
	if len(c.members) > c.most {
		goes = c.oldestLocked()
		c.removeLocked(goes)
		c.turned++
	}
	c.mu.Unlock()
	if goes != nil {
		goes.turn()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.removeLocked(m)
	}
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

// Turned returns how many connections had to go so far.
func (c *Crowd[K]) Turned() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turned
}

package crowd

import "sync"

// Shares is a number of places of which nobody takes all: each gets more only while he has
// not more of them than are free then. So one alone has half of them at most, two a third
// each, and there is always something for the next.
type Shares[K comparable] struct {
	mu    sync.Mutex
	free  int
	taken map[K]int
}

// NewShares returns Shares of so many places.
func NewShares[K comparable](places int) *Shares[K] {
	return &Shares[K]{free: places, taken: map[K]int{}}
}

// Take takes places, and reports whether they are to be had. Whoever has them gives them
// back by Leave.
func (s *Shares[K]) Take(who K, places int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[who]+places > s.free {
		return false
	}
	s.taken[who] += places
	s.free -= places
	return true
}

// Keep is Take for places that were taken before, which are had in any case.
func (s *Shares[K]) Keep(who K, places int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[who] += places
	s.free -= places
}

// Leave gives places back.
func (s *Shares[K]) Leave(who K, places int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += places
	if s.taken[who] -= places; s.taken[who] == 0 {
		delete(s.taken, who)
	}
}

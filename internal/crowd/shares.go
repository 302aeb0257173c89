package crowd

import "sync"

// Shares is a number of places that no user can exhaust: a user gets more places only if it then
// holds no more than were free before. So a single user has at most half of them, two have a third
// each, and some always remain for the next.
type Shares[K comparable] struct {
	mu    sync.Mutex
	free  int
	taken map[K]int
}

// NewShares returns Shares of a number of places.
func NewShares[K comparable](places int) *Shares[K] {
	return &Shares[K]{free: places, taken: map[K]int{}}
}

// Take takes places for a user, and reports whether they are available. The user returns them by
// Leave.
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

// Keep is Take for places that are already in use, so it always succeeds.
func (s *Shares[K]) Keep(who K, places int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[who] += places
	s.free -= places
}

// Taken returns the number of places that are in use.
func (s *Shares[K]) Taken() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, places := range s.taken {
		n += places
	}
	return n
}

// Leave returns places.
func (s *Shares[K]) Leave(who K, places int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += places
	if s.taken[who] -= places; s.taken[who] == 0 {
		delete(s.taken, who)
	}
}

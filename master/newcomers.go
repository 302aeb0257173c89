package master

import (
	"errors"
	"sync"
)

// newcomers has the sessions whose slaves have not said their inventory yet, by the slave's key: one
// of each, since a slave that begins another session has given up those before. Without that, a
// slave could fill the master's memory with sessions in which it says nothing.
type newcomers struct {
	mu   sync.Mutex
	last map[string]transport
}

var errAnother = errors.New("the slave has begun another session")

// enter adds a session, and ends the one of the same slave that was there. leave is to be called
// when the inventory has come, or the session has ended; it may be called again.
func (n *newcomers) enter(key string, t transport) (leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = map[string]transport{}
	}
	if before, ok := n.last[key]; ok {
		before.Close(errAnother)
	}
	n.last[key] = t
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.last[key] == t {
			delete(n.last, key)
		}
	}
}

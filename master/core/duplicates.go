package core

import "time"

// duplicateNews is the shortest time between two log lines about an identity that is used twice.
const duplicateNews = time.Minute

// duplicate reports whether the identity of a session already has another session with a
// connection: a state directory was copied. If both were served, each would end the other's
// processes, in turns.
func (c *Core) duplicate(n *node, s *session) bool {
	if n.sess == nil || !n.sess.up {
		return false
	}
	if c.clock.Sub(n.duplicateAt) >= duplicateNews {
		n.duplicateAt = c.clock
		c.log.Error("two slaves have one identity; the second is not served", "node", n.ID, "name", n.Name, "addr", n.sess.peer.Addr, "second", s.peer.Addr)
	}
	return true
}

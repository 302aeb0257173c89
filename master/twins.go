package master

import (
	"errors"
	"time"
)

// errTwin is why a slave is sent away, to come again. One whose machine was started
// anew is served as soon as the loss of its former connection has been noticed.
var errTwin = errors.New("a slave with the same identity is connected; if this is not its machine, join it anew with an empty state directory")

// twinNews is how often at most the log says that an identity is used twice.
const twinNews = time.Minute

// alone refuses a session of an identity whose session has a connection at this
// moment: somebody has copied a state directory. Otherwise each of the two would end
// the other's processes, in turns.
func (c *core) alone(s *session, now time.Time) error {
	n := c.nodes.byKey[s.peer.Key]
	if n == nil || n.sess == nil {
		return nil
	}
	if up, _, _ := n.sess.link.Connected(); !up {
		return nil
	}
	if now.Sub(n.twinAt) >= twinNews {
		n.twinAt = now
		c.log.Error("two slaves have one identity; the second is not served", "node", n.ID, "name", n.Name, "addr", n.sess.peer.Addr, "second", s.peer.Addr)
	}
	return errTwin
}

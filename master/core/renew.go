package core

import (
	"time"

	"bproc/wire"
)

// Certificates of slaves expire by the clock of the front end, so the master sees to it that
// they are renewed. What it goes by is the certificate that the slave has shown last: one
// that the slave was given and could not keep is none.

// renewal is how far the certificate of a session is.
type renewal struct {
	next   time.Time // not before that it is asked for again
	wanted bool      // a request may come
}

// renewAgain is in how many parts the time that is left is divided, after each of which
// a slave is asked again.
const renewAgain = 10

// due reports whether a certificate is to be renewed: a third of its life is left, or it lives
// longer than those that are made now.
func (v Validity) due(now time.Time, life time.Duration) bool {
	left := v.Until.Sub(now)
	return left <= v.Until.Sub(v.From)/3 || left > life+time.Minute
}

// certificates has a slave renew its certificate in good time. It reports whether it is good.
func (c *Core) certificates(s *session) bool {
	if c.config.Certificate == 0 {
		return true
	}
	left := s.certificate.Until.Sub(c.clock)
	switch {
	case left <= 0:
		c.log.Error("the certificate of a node has expired; its connection is closed", "node", s.node, "addr", s.peer.Addr)
		return false
	case s.certificate.due(c.clock, c.config.Certificate) && !c.clock.Before(s.renewal.next):
		s.renewal = renewal{next: c.clock.Add(left / renewAgain), wanted: true}
		c.put(s, new(wire.Renew))
	}
	return true
}

// certify answers a slave that was told to renew its certificate.
func (c *Core) certify(s *session, m *wire.RenewRequest) {
	if !s.renewal.wanted {
		c.log.Error("node wants a certificate and was not asked to; its connection is closed", "node", s.node)
		c.close(s, ErrUnexpected)
		return
	}
	s.renewal.wanted = false
	c.emit(Certify{s.id, s.node, s.peer.Key, m.CSR})
}

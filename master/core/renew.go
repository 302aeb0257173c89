package core

import (
	"time"

	"bproc/wire"
)

// Certificates of slaves expire by the clock of the front end, so the master has them renewed. It
// goes by the certificate that the slave has shown last: one that the slave was given and could not
// keep does not count.

// renewal is the state of the renewal in a session.
type renewal struct {
	next   time.Time // earliest time at which the slave is asked again
	wanted bool      // a request is allowed
}

// renewAgain is the number of parts into which the remaining time is divided. After each part the
// slave is asked again.
const renewAgain = 10

// due reports whether a certificate must be renewed: a third of its life is left, or it lives
// longer than certificates that are made now. If it is not valid yet the clock is behind: a new
// certificate would expire before this one, perhaps as soon as the clock is set.
func (v Validity) due(now time.Time, life time.Duration) bool {
	left := v.Until.Sub(now)
	return left <= v.Until.Sub(v.From)/3 || left > life+time.Minute && !now.Before(v.From)
}

// certificates has a slave renew its certificate in time. It reports whether the certificate is
// good.
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

package master

import (
	"time"

	"bproc/wire"
	"bproc/wire/link"
)

// Certificates of slaves expire by the clock of the front end, so the master sees to it that
// they are renewed. What it goes by is the certificate that the slave has shown last: one
// that the slave was given and could not keep is none.

// certifier is what the core needs of a [link.Authority].
type certifier interface {
	Due(v link.Validity, now time.Time) bool
	Certify(identity string, csr []byte) (der []byte, err error)
}

// renewal is how far the certificate of a session is.
type renewal struct {
	next   time.Time // not before that it is asked for again
	wanted bool      // a request may come
}

// renewAgain is in how many parts the time that is left is divided, after each of which
// a slave is asked again.
const renewAgain = 10

// certificates has a slave renew its certificate in good time. It reports whether it is good.
func (c *core) certificates(s *session, now time.Time) bool {
	if c.authority == nil {
		return true
	}
	v := s.link.Certificate()
	left := v.Until.Sub(now)
	switch {
	case left <= 0:
		c.log.Error("the certificate of a node has expired; its connection is closed", "node", s.node, "addr", s.peer.Addr)
		return false
	case c.authority.Due(v, now) && !now.Before(s.renewal.next):
		s.renewal = renewal{next: now.Add(left / renewAgain), wanted: true}
		s.put(new(wire.Renew))
	}
	return true
}

// certify answers a slave that was told to renew its certificate.
func (c *core) certify(s *session, m *wire.RenewRequest) {
	if !s.renewal.wanted {
		c.log.Error("node wants a certificate and was not asked to; its connection is closed", "node", s.node)
		s.link.Close(errUnexpected)
		return
	}
	s.renewal.wanted = false
	der, err := c.authority.Certify(s.peer.Key, m.CSR)
	if err != nil {
		c.log.Error("the certificate of a node is not renewed; its connection is closed", "node", s.node, "err", err)
		s.link.Close(err)
		return
	}
	c.log.Info("the certificate of a node is renewed", "node", s.node)
	s.put(&wire.RenewReply{Certificate: der})
}

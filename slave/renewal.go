package slave

import (
	"log/slog"

	"bproc/wire"
	"bproc/wire/link"
)

// renewal renews the certificate of this node when the master wants it to. Its owner is the
// goroutine that reads the control stream; what it does on the disk takes a moment, once in
// months.
type renewal struct {
	log       *slog.Logger
	identity  *link.Identity
	reconnect func() // has the link go on over a connection with the new certificate
	put       func(wire.Message) error

	pending *link.Renewal // that the master has been asked for
}

// begin asks for a certificate. If that comes to nothing the master says so again.
func (r *renewal) begin() error {
	next, err := r.identity.Renew()
	if err != nil {
		return err
	}
	r.pending = next
	return r.put(&wire.RenewRequest{CSR: next.CSR})
}

// done takes the certificate. One that cannot be kept is not used either: the node would not
// have it after its next start, and the master must know.
func (r *renewal) done(m *wire.RenewReply) {
	next := r.pending
	if next == nil {
		return
	}
	r.pending = nil
	if err := next.Done(m.Certificate); err != nil {
		r.log.Error("the certificate of this node is not renewed", "err", err)
		return
	}
	r.log.Info("the certificate of this node is renewed", "until", r.identity.Validity().Until)
	r.reconnect()
}

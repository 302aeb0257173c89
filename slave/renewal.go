package slave

import (
	"log/slog"

	"bproc/wire"
	"bproc/wire/link"
)

// renewal renews the certificate of this node when the master asks for it. Its owner is the
// goroutine that reads the control stream; its work on the disk takes a moment, once in months.
type renewal struct {
	log       *slog.Logger
	identity  *link.Identity
	reconnect func() // moves the link to a connection with the new certificate
	put       func(wire.Message) error

	pending *link.Renewal // requested from the master
}

// begin requests a certificate. If that fails the master asks for the renewal again.
func (r *renewal) begin() error {
	next, err := r.identity.Renew()
	if err != nil {
		return err
	}
	r.pending = next
	return r.put(&wire.RenewRequest{CSR: next.CSR})
}

// done takes the certificate. A certificate that cannot be stored is not used either: the node
// would not have it after its next start, and the master must know that.
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

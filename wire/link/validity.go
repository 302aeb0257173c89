package link

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Validity is the time in which a certificate is valid, by the clock of the master.
type Validity struct{ From, Until time.Time }

// ErrExpired is the reason of the master for refusing a certificate that has expired.
var ErrExpired = errors.New("the certificate of this node has expired; enrol the node again: make a token with 'bpctl enroll' on the front end, and start bpslave with it")

func validityOf(cert *x509.Certificate) Validity { return Validity{cert.NotBefore, cert.NotAfter} }

// check returns ErrExpired if the certificate has expired. If it is not valid yet, it was made when
// the clock was ahead of its present time, and it is accepted.
func (v Validity) check(now time.Time) error {
	if now.Before(v.Until) {
		return nil
	}
	return fmt.Errorf("%w (it was good until %s)", ErrExpired, v.Until.UTC().Format(time.RFC3339))
}

// Due reports whether a certificate must be renewed: a third of its life or less is left, or it is
// valid for longer than new certificates are. If it is not valid yet the clock is behind: a new
// certificate would expire before this one, perhaps as soon as the clock is set.
func (a *Authority) Due(v Validity, now time.Time) bool {
	left := v.Until.Sub(now)
	return left <= v.Until.Sub(v.From)/3 || left > a.life()+time.Minute && !now.Before(v.From)
}

// verifySlave checks that a connection is from a slave with a certificate of this authority. It
// does not check the dates: the opening does, and can say why it refuses.
func (a *Authority) verifySlave(cs tls.ConnectionState) error {
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots:       poolOf(a.cert),
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		CurrentTime: cs.PeerCertificates[0].NotBefore,
	})
	return err
}

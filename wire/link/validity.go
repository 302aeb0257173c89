package link

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Validity is from when to when a certificate is good, by the clock of the master.
type Validity struct{ From, Until time.Time }

// ErrExpired is why the master refuses a certificate that has expired.
var ErrExpired = errors.New("the certificate of this node has expired; enrol the node again: make a token with 'bpctl enroll' on the front end, and start bpslave with it")

func validityOf(cert *x509.Certificate) Validity { return Validity{cert.NotBefore, cert.NotAfter} }

// check returns ErrExpired when the certificate is not good any more. One that is not good yet
// was made when the clock was ahead of what it is now.
func (v Validity) check(now time.Time) error {
	if now.Before(v.Until) {
		return nil
	}
	return fmt.Errorf("%w (it was good until %s)", ErrExpired, v.Until.UTC().Format(time.RFC3339))
}

// Due reports whether a certificate is to be renewed: a third of its life is left, or it is
// good for longer than those that are made now.
func (a *Authority) Due(v Validity, now time.Time) bool {
	left := v.Until.Sub(now)
	return left <= v.Until.Sub(v.From)/3 || left > a.life()+time.Minute
}

// verifySlave checks that a connection is from a slave with a certificate of this authority.
// Of its dates that tells nothing: to refuse them is left to the opening, which can say why.
func (a *Authority) verifySlave(cs tls.ConnectionState) error {
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots:       poolOf(a.cert),
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		CurrentTime: cs.PeerCertificates[0].NotBefore,
	})
	return err
}

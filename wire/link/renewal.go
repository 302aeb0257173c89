package link

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
)

// Renewal is a key that is to replace that of an identity when the master has certified it.
type Renewal struct {
	CSR []byte // certificate request, DER

	id  *Identity
	key ed25519.PrivateKey
}

// Renew makes a key and a request for a certificate. The identity does not change until
// [Renewal.Done].
func (id *Identity) Renew() (*Renewal, error) {
	key, csr, err := newRequest()
	if err != nil {
		return nil, fmt.Errorf("renew identity: %w", err)
	}
	return &Renewal{CSR: csr, id: id, key: key}, nil
}

// newRequest makes a key and a certificate request for it.
func newRequest() (ed25519.PrivateKey, []byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	return key, csr, err
}

var errOtherName = errors.New("certificate is of another identity")

// Done stores the key and its certificate, which new connections use from then on; see
// [Session.Reconnect]. If they cannot be stored, the identity does not change.
func (r *Renewal) Done(certificate []byte) error {
	next, err := newIdentity(r.key, certificate, r.id.authority.Raw)
	if err == nil && next.Key() != r.id.Key() {
		err = errOtherName
	}
	if err == nil {
		next.Home = r.id.Home
		err = next.write(r.id.dir)
	}
	if err != nil {
		return fmt.Errorf("renew identity: %w", err)
	}
	r.id.cert.Store(next.cert.Load())
	return nil
}

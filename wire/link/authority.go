package link

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// masterName is the name in the master's certificate. Slaves find the master by an address in their
// own configuration. The name and the authority prove that it is the master, whatever the address.
const masterName = "master.bproc.internal"

// Authority is the certificate authority of one master, and its tokens.
type Authority struct {
	// Life is the lifetime of slaves' certificates; 0: [DefaultLife]. It must be set before the
	// authority is used.
	Life time.Duration

	cert   *x509.Certificate
	key    ed25519.PrivateKey
	server tls.Certificate
	tokens tokenStore
}

// Records is a table that survives the master.
type Records interface {
	All() (map[string][]byte, error)
	// Change stores records and removes those that are nil. When it returns, either all changes are
	// on disk, or nothing has changed.
	Change(records map[string][]byte) error
}

// authorityRecord is the name of the record with an authority's key and certificate.
const authorityRecord = "authority.pem"

// OpenAuthority opens the authority whose key and certificate are in one table and whose tokens are
// in another, or makes a new authority in them.
func OpenAuthority(secrets, tokens Records) (*Authority, error) {
	kept, err := secrets.All()
	if err != nil {
		return nil, fmt.Errorf("open authority: %w", err)
	}
	var a *Authority
	if data, ok := kept[authorityRecord]; ok {
		a, err = parseAuthority(data)
	} else {
		a, err = newAuthority(secrets)
	}
	if err != nil {
		return nil, fmt.Errorf("open authority: %w", err)
	}
	if a.server, err = a.serverCertificate(); err != nil {
		return nil, fmt.Errorf("make the master's certificate: %w", err)
	}
	if err := a.tokens.open(tokens); err != nil {
		return nil, fmt.Errorf("open tokens: %w", err)
	}
	return a, nil
}

func parseAuthority(data []byte) (*Authority, error) {
	blocks, _, err := parsePEM(data, pemKey, pemCertificate)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(blocks[0])
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(blocks[1])
	if err != nil {
		return nil, err
	}
	if !key.Public().(ed25519.PublicKey).Equal(cert.PublicKey) {
		return nil, errOtherKey
	}
	return &Authority{cert: cert, key: key}, nil
}

func newAuthority(secrets Records) (*Authority, error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	tmpl := template("bproc authority " + newID())
	tmpl.IsCA, tmpl.BasicConstraintsValid, tmpl.MaxPathLenZero = true, true, true
	tmpl.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, pub, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	data := appendPEM(appendPEM(nil, pemKey, pkcs8), pemCertificate, der)
	return &Authority{cert: cert, key: key}, secrets.Change(map[string][]byte{authorityRecord: data})
}

// serverCertificate makes the master's certificate, a new one at each start: only the authority's
// key has to be kept.
func (a *Authority) serverCertificate() (tls.Certificate, error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	tmpl := template(masterName)
	tmpl.DNSNames = []string{masterName}
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, pub, a.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	// With the authority's certificate: a slave that joins knows only its fingerprint.
	return tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}, nil
}

// DefaultLife is the default lifetime of a slave's certificate.
const DefaultLife = 365 * 24 * time.Hour

func (a *Authority) life() time.Duration { return cmp.Or(a.Life, DefaultLife) }

// issue makes a certificate with a new identity for the public key of a request.
func (a *Authority) issue(csr []byte) (identity string, der []byte, err error) {
	identity = newID()
	der, err = a.Certify(identity, csr)
	return identity, der, err
}

// Certify makes a certificate of an identity for the public key of a request.
func (a *Authority) Certify(identity string, csr []byte) (der []byte, err error) {
	req, err := x509.ParseCertificateRequest(csr)
	if err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	if _, ok := req.PublicKey.(ed25519.PublicKey); !ok {
		return nil, fmt.Errorf("certificate request: key is %v", req.PublicKeyAlgorithm)
	}
	if err := req.CheckSignature(); err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	tmpl := template(identity) // uses only the key of the request
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	tmpl.NotBefore = time.Now()
	tmpl.NotAfter = tmpl.NotBefore.Add(a.life())
	return x509.CreateCertificate(rand.Reader, tmpl, a.cert, req.PublicKey, a.key)
}

// template returns the common part of all certificates. They are always valid, except those of
// slaves, whose dates only the master checks: nodes may start with a clock that was never set.
func template(name string) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // cannot fail
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280, 4.1.2.5: no end
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// fingerprint identifies an authority in a token.
func fingerprint(cert *x509.Certificate) [sha256.Size]byte { return sha256.Sum256(cert.Raw) }

func parseKey(der []byte) (ed25519.PrivateKey, error) {
	k, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := k.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("key is a %T", k)
	}
	return key, nil
}

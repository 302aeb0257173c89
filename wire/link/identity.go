package link

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"bproc/wire"
)

// Identity is the certificate and key of a slave, and the authority that its master must prove.
type Identity struct {
	// Home is a range of process numbers that no other node ever has. A Count of 0: none.
	Home wire.Block

	cert      atomic.Pointer[tls.Certificate] // replaced by a Renewal
	authority *x509.Certificate
	dir       string // directory of its file
}

const identityFile = "identity.pem"

// OpenIdentity reads the identity that Join has written into dir. The error is ErrNotJoined if
// there is none.
func OpenIdentity(dir string) (*Identity, error) {
	path := filepath.Join(dir, identityFile)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrNotJoined, err)
	case err != nil:
		return nil, fmt.Errorf("open identity: %w", err)
	}
	id, err := parseIdentity(data)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; restore it, or remove it and join again with a new token", path, err)
	}
	id.dir = dir
	return id, nil
}

func parseIdentity(data []byte) (*Identity, error) {
	blocks, rest, err := parsePEM(data, pemKey, pemCertificate, pemCertificate)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(blocks[0])
	if err != nil {
		return nil, err
	}
	id, err := newIdentity(key, blocks[1], blocks[2])
	if err == nil && len(rest) > 0 {
		id.Home, err = parseHome(rest)
	}
	return id, err
}

// parseHome parses the output of appendHome.
func parseHome(data []byte) (wire.Block, error) {
	blocks, _, err := parsePEM(data, pemHome)
	if err != nil {
		return wire.Block{}, err
	}
	var home wire.Block
	if err := json.Unmarshal(blocks[0], &home); err != nil {
		return wire.Block{}, fmt.Errorf("home: %w", err)
	}
	return home, nil
}

func appendHome(dst []byte, home wire.Block) ([]byte, error) {
	text, err := json.Marshal(home)
	return appendPEM(dst, pemHome, text), err
}

var errOtherKey = errors.New("certificate is of another key")

// newIdentity makes an identity and checks that its parts belong together. The master decides
// whether the certificate has expired.
func newIdentity(key ed25519.PrivateKey, certificate, authority []byte) (*Identity, error) {
	leaf, err := x509.ParseCertificate(certificate)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	root, err := x509.ParseCertificate(authority)
	if err != nil {
		return nil, fmt.Errorf("certificate of the authority: %w", err)
	}
	if !key.Public().(ed25519.PublicKey).Equal(leaf.PublicKey) {
		return nil, errOtherKey
	}
	opts := x509.VerifyOptions{Roots: poolOf(root), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, CurrentTime: leaf.NotBefore}
	if _, err := leaf.Verify(opts); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	id := &Identity{authority: root}
	id.cert.Store(&tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key, Leaf: leaf})
	return id, nil
}

// Key returns the name by which the master knows this identity.
func (id *Identity) Key() string { return id.cert.Load().Leaf.Subject.CommonName }

// Validity returns the validity of its certificate, by the clock of the master.
func (id *Identity) Validity() Validity { return validityOf(id.cert.Load().Leaf) }

// write writes the identity into dir, replacing an older one.
func (id *Identity) write(dir string) error {
	if err := secretDir(dir); err != nil {
		return err
	}
	cert := id.cert.Load()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		return err
	}
	data := appendPEM(nil, pemKey, pkcs8)
	data = appendPEM(data, pemCertificate, cert.Certificate[0])
	data = appendPEM(data, pemCertificate, id.authority.Raw)
	if id.Home.Count > 0 {
		if data, err = appendHome(data, id.Home); err != nil {
			return err
		}
	}
	return replaceFile(filepath.Join(dir, identityFile), data)
}

func poolOf(cert *x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return pool
}

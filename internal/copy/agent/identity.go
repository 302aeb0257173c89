package agent

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// NewIdentity makes the certificate of a copy, and its key. Only the agents of the copy get them.
func NewIdentity() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	// Certificates are compared as a whole; their fields do not matter.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}
	if certificate, err = x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private); err != nil {
		return nil, nil, err
	}
	key, err = x509.MarshalPKCS8PrivateKey(private)
	return certificate, key, err
}

// errStranger is the error for a peer that does not belong to the copy.
var errStranger = errors.New("the other end is not of this copy")

// configuration returns the TLS configuration of a copy.
func configuration(certificate, key []byte) (*tls.Config, error) {
	private, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("the key of the copy: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: private}},
		ClientAuth:   tls.RequireAnyClientCert,
		// No authority has signed the certificate. Both ends prove that they have its key.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) != 1 || !bytes.Equal(state.PeerCertificates[0].Raw, certificate) {
				return errStranger
			}
			return nil
		},
		CurvePreferences:            []tls.CurveID{tls.X25519},
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	}, nil
}

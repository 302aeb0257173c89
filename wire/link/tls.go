package link

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
)

// Application protocols (RFC 7301): the purpose of a connection is known before a certificate is
// asked for.
const (
	protoLink = "bproc-link"
	protoJoin = "bproc-join"

	protoAbout = "bproc-about"
)

// baseConfig is TLS 1.3, and leaves the choice of ciphers to crypto/tls: AES-GCM where the
// processor has AES, ChaCha20 elsewhere.
func baseConfig(proto string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{proto},
		// Small records at the start of a burst would cost bulk data a fifth of its rate.
		DynamicRecordSizingDisabled: true,
		// A resumed session would not check the certificates again.
		SessionTicketsDisabled: true,
	}
}

// serverConfig returns the master's side. Only links need a certificate of the slave.
func (a *Authority) serverConfig() *tls.Config {
	join := baseConfig(protoJoin)
	join.Certificates = []tls.Certificate{a.server}
	about := baseConfig(protoAbout)
	about.Certificates = []tls.Certificate{a.server}
	link := baseConfig(protoLink)
	link.Certificates = []tls.Certificate{a.server}
	link.ClientAuth, link.VerifyConnection = tls.RequireAnyClientCert, a.verifySlave
	link.ClientCAs = poolOf(a.cert)
	bypass := link.Clone()
	bypass.NextProtos = []string{protoBypass}

	choose := baseConfig(protoLink)
	choose.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		switch {
		case slices.Contains(h.SupportedProtos, protoJoin):
			return join, nil
		case slices.Contains(h.SupportedProtos, protoAbout):
			return about, nil
		case slices.Contains(h.SupportedProtos, protoBypass):
			return bypass, nil
		}
		return link, nil
	}
	return choose
}

// clientConfig returns the slave's side: the other end must have a server certificate of the
// authority with the master's name. A slave's certificate is neither for servers nor has that name.
func (id *Identity) clientConfig() *tls.Config {
	c := baseConfig(protoLink)
	// The certificate may be renewed meanwhile.
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return id.cert.Load(), nil }
	c.RootCAs = poolOf(id.authority)
	c.ServerName = masterName
	return c
}

// joinConfig returns the side of a slave that knows only the fingerprint of the authority. It
// verifies against the certificate with this fingerprint what crypto/tls would verify against a
// pool.
func joinConfig(print [sha256.Size]byte) *tls.Config {
	c := baseConfig(protoJoin)
	c.ServerName = masterName
	c.InsecureSkipVerify = true
	c.VerifyConnection = func(cs tls.ConnectionState) error {
		i := slices.IndexFunc(cs.PeerCertificates, func(cert *x509.Certificate) bool {
			return fingerprint(cert) == print
		})
		if i < 0 {
			return errOtherMaster
		}
		_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{
			Roots:     poolOf(cs.PeerCertificates[i]),
			DNSName:   masterName,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		return err
	}
	return c
}

var errOtherMaster = errors.New("this is not the master that the token is of")

// refusedByAlert converts an alert of TLS from the other side into a refusal. With TLS 1.3 a client
// learns only after its handshake that its certificate was rejected.
func refusedByAlert(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" {
		return &RefusedError{Reason: "identity is not accepted: " + op.Err.Error()}
	}
	return err
}

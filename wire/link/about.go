package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"bproc/wire"
)

// About describes a master.
type About struct {
	Version    uint16 // highest protocol version spoken
	MinVersion uint16 // lowest protocol version spoken
	Release    string // version of the program

	// Ahead is the lead of the master's clock over this machine's. Within bounds the error of that:
	// half of the time that the request took.
	Ahead, Within time.Duration
}

// ErrOtherMaster means that a master has another authority than the master whose cluster this node
// has joined.
var ErrOtherMaster = errors.New("this is not the master whose cluster this node has joined")

// Inquire asks the master at addr for its description. It needs no certificate. With an identity,
// the master must prove that it has issued the identity.
func Inquire(ctx context.Context, addr string, id *Identity) (*About, error) {
	config := baseConfig(protoAbout)
	config.ServerName = masterName
	config.InsecureSkipVerify = true
	if id != nil {
		config.VerifyConnection = id.verifyMaster
	}
	var answer *wire.About
	asked := time.Now()
	o, err := ask(ctx, addr, config, openingTime, nil, &answer)
	if err != nil {
		return nil, fmt.Errorf("ask the master at %s: %w", addr, err)
	}
	answered := time.Now()
	_ = o.Close()
	within := answered.Sub(asked) / 2
	return &About{
		Version: answer.Version, MinVersion: answer.MinVersion, Release: answer.Release,
		Ahead: time.Unix(0, answer.Time).Sub(asked.Add(within)), Within: within,
	}, nil
}

// verifyMaster checks that a connection is to the master of this identity.
func (id *Identity) verifyMaster(cs tls.ConnectionState) error {
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots:     poolOf(id.authority),
		DNSName:   masterName,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOtherMaster, err)
	}
	return nil
}

// otherMaster wraps an error about a certificate of another authority in ErrOtherMaster.
func otherMaster(err error) error {
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		return fmt.Errorf("%w: %w", ErrOtherMaster, err)
	}
	return err
}

// about serves a connection that asks for the master's description.
func (l *Listener) about(t *tls.Conn) error {
	return wire.Write(t, 0, &wire.About{
		Version: wire.Version, MinVersion: wire.MinVersion, Release: l.cfg.Release, Time: time.Now().UnixNano(),
	})
}

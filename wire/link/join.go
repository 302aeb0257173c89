package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"

	"bproc/wire"
)

// Join makes a new identity with a token of the master at addr, and writes it into dir, replacing
// an older one. host is the node's host name. If the token is invalid the error is a *TokenError.
func Join(ctx context.Context, addr, token, dir, host string) (*Identity, error) {
	t, err := parseToken(token)
	if err != nil {
		return nil, &TokenError{err}
	}
	if err := tryWrite(dir); err != nil { // before the token is used up
		return nil, fmt.Errorf("write identity: %w", err)
	}
	id, err := join(ctx, addr, t, host)
	if err != nil {
		err = fmt.Errorf("join the cluster of %s: %w", addr, err)
		if refused := (*RefusedError)(nil); errors.Is(err, errOtherMaster) || errors.As(err, &refused) && refused.Rejoin {
			err = &TokenError{err}
		}
		return nil, err
	}
	if err := id.write(dir); err != nil {
		return nil, fmt.Errorf("write identity: %w", err)
	}
	id.dir = dir
	return id, nil
}

func join(ctx context.Context, addr string, t token, host string) (*Identity, error) {
	key, csr, err := newRequest()
	if err != nil {
		return nil, err
	}
	request := &wire.JoinRequest{Version: wire.Version, Secret: t.secret[:], CSR: csr, Host: host}
	var answer *wire.JoinReply
	conn, err := ask(ctx, addr, joinConfig(t.authority), openingTime, request, &answer)
	if err != nil {
		return nil, err
	}
	_ = conn.Close()
	id, err := newIdentity(key, answer.Certificate, answer.Authority)
	if err != nil {
		return nil, err
	}
	id.Home = answer.Home
	if fingerprint(id.authority) != t.authority {
		return nil, errOtherMaster
	}
	return id, nil
}

// join serves a connection that joins.
func (l *Listener) join(t *tls.Conn, log *slog.Logger) error {
	request, err := readOpening[*wire.JoinRequest](t)
	if err != nil {
		return err
	}
	if err := checkVersion(request.Version); err != nil {
		return err
	}
	if !plainText(request.Host) {
		return &RefusedError{Reason: "host name has characters that it cannot have"}
	}
	a := l.cfg.Authority
	// Without a valid token no work is done: most of it is parsing the request and signing. The
	// token is used up only when there is a certificate for it.
	if err := a.tokens.check(request.Secret); err != nil {
		return refusedToken(err)
	}
	key, der, err := a.issue(request.CSR)
	if err != nil {
		return &RefusedError{Reason: err.Error()}
	}
	g, err := a.tokens.take(request.Secret)
	if err != nil {
		return refusedToken(err)
	}
	j := Joining{Key: key, Host: request.Host, Addr: hostOf(t.RemoteAddr()), Node: g.Node, Name: g.Name}
	if g.full() {
		j.Again = append([]wire.NodeID{}, g.Nodes...)
	}
	node, home, err := l.cfg.Joined(j)
	if errors.Is(err, ErrNotAgain) {
		return refusedToken(errTokenUsed)
	}
	if err != nil {
		err = errors.Join(err, a.tokens.giveBack(request.Secret, g))
		return &RefusedError{Reason: err.Error()}
	}
	if err := a.tokens.joined(request.Secret, g, node); err != nil {
		return &RefusedError{Reason: err.Error()}
	}
	log.Info("node has joined", "node", node, "host", request.Host, "key", key)
	return wire.Write(t, 0, &wire.JoinReply{Certificate: der, Authority: a.cert.Raw, Home: home})
}

// hostOf returns an address without its port.
func hostOf(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().String()
	}
	return ""
}

// refusedToken refuses a slave whose token could not be used. The slave may try again with the same
// token if the token is not the reason.
func refusedToken(err error) *RefusedError {
	return &RefusedError{Reason: err.Error(), Rejoin: slices.ContainsFunc(badToken, func(bad error) bool { return errors.Is(err, bad) })}
}

package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"bproc/wire"
	"bproc/wire/bypass"
)

const protoBypass = "bproc-bypass"

// Labels of the keys of a bypass (RFC 8446, 7.5).
const (
	labelToNode   = "EXPORTER-bproc-bypass-to-node"
	labelToClient = "EXPORTER-bproc-bypass-to-client"
)

// BypassEnd is the end of a bypass that is to be the client's.
type BypassEnd struct {
	Socket           *os.File
	ToNode, ToClient []byte // keys
}

// DialBypass connects to the master for one that waits for the token, and returns the node's end. The other one is
// a client's from then on.
func DialBypass(ctx context.Context, addr string, id *Identity, token []byte) (*bypass.Conn, error) {
	config := id.clientConfig()
	config.NextProtos = []string{protoBypass}
	var welcome *wire.BypassWelcome
	o, err := ask(ctx, addr, config, openingTime, &wire.BypassHello{Token: token}, &welcome)
	if err != nil {
		return nil, fmt.Errorf("bypass: connect to the master at %s: %w", addr, err)
	}
	toNode, toClient, err := bypassKeys(o.ConnectionState(), token)
	if err != nil {
		o.raw.abort()
		return nil, err
	}
	conn, err := bypass.New(o.raw.TCPConn, toNode, toClient)
	if err == nil {
		_, err = conn.Write(nil) // after which the client speaks: TLS has read nothing of that
	}
	if err != nil {
		o.raw.abort()
		return nil, err
	}
	return conn, nil
}

// bypassKeys exports the keys of a bypass from the connection of TLS before it.
func bypassKeys(cs tls.ConnectionState, token []byte) (toNode, toClient []byte, err error) {
	toNode, err1 := cs.ExportKeyingMaterial(labelToNode, token, wire.BypassKey)
	toClient, err2 := cs.ExportKeyingMaterial(labelToClient, token, wire.BypassKey)
	return toNode, toClient, errors.Join(err1, err2)
}

// errHandedOver is why the master has no business with a connection any more.
var errHandedOver = errors.New("the connection is a client's")

// bypass gives the end of a connection to the client that waits for its token. The error is errHandedOver then.
func (l *Listener) bypass(t *tls.Conn, raw *batch) error {
	hello, err := readOpening[*wire.BypassHello](t)
	if err != nil {
		return err
	}
	cs := t.ConnectionState()
	key := cs.PeerCertificates[0].Subject.CommonName
	if err := l.admit(Peer{Key: key, Addr: raw.RemoteAddr().String(), Certificate: validityOf(cs.PeerCertificates[0])}); err != nil {
		return err
	}
	var end BypassEnd
	if end.ToNode, end.ToClient, err = bypassKeys(cs, hello.Token); err != nil {
		return err
	}
	if l.cfg.Bypass == nil {
		return &RefusedError{Reason: "there are no bypasses"}
	}
	give := l.cfg.Bypass(key, hello.Token)
	if give == nil {
		return &RefusedError{Reason: "nobody waits for this bypass"}
	}
	if err := errors.Join(raw.SetDeadline(time.Time{}), wire.Write(t, 0, &wire.BypassWelcome{})); err != nil {
		return err
	}
	if end.Socket, err = raw.File(); err != nil {
		return err
	}
	give(end)
	return errHandedOver
}

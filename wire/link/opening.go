package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"bproc/wire"
)

// DefaultPort is the master's TCP port.
const DefaultPort = "2223"

const (
	openingTime = 10 * time.Second // from the first byte to the end of the opening
	dialTime    = time.Second      // for a connection of TCP
	maxText     = 255              // of a host name and the like
)

// opened is a connection on which each side has said its first message.
type opened struct {
	*tls.Conn
	raw *batch
}

// ask connects to the master, proves it, sends a request, unless that is nil, and reads
// the answer, which must be of the type that answer points to.
func ask[M wire.Message](ctx context.Context, addr string, config *tls.Config, limit time.Duration, request wire.Message, answer *M) (opened, error) {
	c, err := dialTCP(ctx, addr)
	if err != nil {
		return opened{}, err
	}
	raw := &batch{TCPConn: c}
	t := tls.Client(raw, config)
	stop := context.AfterFunc(ctx, raw.abort)
	err = raw.SetDeadline(time.Now().Add(limit))
	if err == nil {
		err = t.HandshakeContext(ctx)
	}
	if err == nil && request != nil {
		err = wire.Write(t, 0, request)
	}
	if err == nil {
		*answer, err = readOpening[M](t)
	}
	if err == nil {
		err = raw.SetDeadline(time.Time{})
	}
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		raw.abort()
		return opened{}, refusedByAlert(err)
	}
	return opened{t, raw}, nil
}

// readOpening reads the one message that must come next, from a peer that may not have proved anything. A refusal
// is an error.
func readOpening[M wire.Message](t *tls.Conn) (M, error) {
	var none M
	r := wire.NewReader(t)
	r.Only(none.Type(), wire.TypeRefused)
	m, _, err := r.Read()
	if errors.Is(err, wire.ErrFrame) {
		err = fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if err != nil {
		return none, err
	}
	if r, ok := m.(*wire.Refused); ok {
		return none, &RefusedError{Reason: r.Reason, Later: r.Later, Rejoin: r.Rejoin}
	}
	return m.(M), nil
}

// checkVersion returns a refusal when the other side speaks no version of ours.
func checkVersion(highest uint16) error {
	if highest < wire.MinVersion {
		return &RefusedError{Reason: fmt.Sprintf("protocol version %d; this master speaks %d to %d", highest, wire.MinVersion, wire.Version)}
	}
	return nil
}

// plainText reports whether a name can be shown in a line of a table or a log.
func plainText(s string) bool {
	return len(s) <= maxText && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

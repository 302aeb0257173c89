package slave

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/stdio"
	"bproc/wire"
	"bproc/wire/bypass"
	"bproc/wire/link"
)

// firstOnBypass is how long a client may take to say from where it goes on.
const firstOnBypass = 10 * time.Second

// bypass connects to the master for the client of a process, and serves the client over that connection to its
// end, or to that of the session.
func (n *node) bypass(ctx context.Context, cfg link.DialConfig, stream link.Stream, m *wire.OpenBypass) error {
	conn, err := n.openBypass(ctx, cfg, m)
	answer := &wire.Resumed{}
	if err != nil {
		answer.Errno = uint32(errnoOf(err))
	}
	err = errors.Join(err, wire.Write(stream, 0, answer), stream.Close())
	if conn == nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err != nil {
		return err
	}
	return n.serveBypass(conn, m)
}

func (n *node) openBypass(ctx context.Context, cfg link.DialConfig, m *wire.OpenBypass) (*bypass.Conn, error) {
	if _, err := n.stdios.Of(&wire.Resume{PID: m.PID, Launch: m.Launch, UID: m.UID}); err != nil {
		return nil, err
	}
	return link.DialBypass(ctx, cfg.Addr, cfg.Identity, m.Token)
}

// serveBypass goes on with a process over a bypass.
func (n *node) serveBypass(conn *bypass.Conn, m *wire.OpenBypass) error {
	if err := conn.SetReadDeadline(time.Now().Add(firstOnBypass)); err != nil {
		return err
	}
	first, _, err := wire.NewReader(conn).Read()
	if err != nil {
		return fmt.Errorf("bypass of process %d: %w", m.PID, err)
	}
	resume, ok := first.(*wire.Resume)
	if !ok || resume.PID != m.PID {
		return fmt.Errorf("%w: type %d opens the bypass of process %d", wire.ErrFrame, first.Type(), m.PID)
	}
	resume.Launch, resume.UID = m.Launch, m.UID // the master has said who the client is
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	a := stdio.NewBypass(conn)
	d, err := n.resumeFor(a, resume)
	if err != nil {
		return err
	}
	err = d.Read(bypass.NewFrames(conn), a)
	d.Lost(a)
	if errors.Is(err, unix.ECONNRESET) {
		return nil
	}
	return err
}

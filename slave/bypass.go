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

// maxResume bounds the payload of Resume, in bytes: a client that is not known yet says it.
const maxResume = 1 << 10

// bypass connects to the master for the client of a process, and serves the client over that connection to its
// end, or to that of the session.
func (n *node) bypass(ctx context.Context, cfg link.DialConfig, stream link.Stream, m *wire.OpenBypass) error {
	var conn *bypass.Conn
	made, err := n.makeBypass(m)
	if err == nil {
		defer made()
		conn, err = link.DialBypass(ctx, cfg.Addr, cfg.Identity, m.Token)
	}
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
	return n.serveBypass(conn, m, made)
}

// makeBypass returns what is to be called when the bypass of a process is made, or will not be.
func (n *node) makeBypass(m *wire.OpenBypass) (made func(), err error) {
	d, err := n.stdios.Of(&wire.Resume{PID: m.PID, Launch: m.Launch, UID: m.UID})
	if err != nil {
		return nil, err
	}
	return d.MakeBypass()
}

// serveBypass goes on with a process over a bypass. It calls made when the client is attached.
func (n *node) serveBypass(conn *bypass.Conn, m *wire.OpenBypass, made func()) error {
	resume, err := firstOn(conn, m)
	if err != nil {
		return fmt.Errorf("bypass of process %d: %w", m.PID, err)
	}
	a := stdio.NewBypass(conn)
	d, err := n.resumeFor(a, resume)
	if err != nil {
		return err
	}
	made()
	err = d.Read(bypass.NewFrames(conn), a)
	d.Lost(a)
	if errors.Is(err, unix.ECONNRESET) {
		return nil
	}
	return err
}

// firstOn reads what the client says first on a bypass.
func firstOn(conn *bypass.Conn, m *wire.OpenBypass) (*wire.Resume, error) {
	if err := conn.SetReadDeadline(time.Now().Add(firstOnBypass)); err != nil {
		return nil, err
	}
	reader := wire.NewReader(conn)
	reader.Admit(func(bytes int) error {
		if bytes > maxResume {
			return fmt.Errorf("%w: %d bytes in the first frame", wire.ErrFrame, bytes)
		}
		return nil
	})
	first, _, err := reader.Read()
	if err == nil && conn.Rest() > 0 {
		err = fmt.Errorf("%w: %d bytes behind the first frame, before its answer", wire.ErrFrame, conn.Rest())
	}
	if err != nil {
		return nil, err
	}
	resume, ok := first.(*wire.Resume)
	if !ok || resume.PID != m.PID {
		return nil, fmt.Errorf("%w: type %d opens it", wire.ErrFrame, first.Type())
	}
	resume.Launch, resume.UID = m.Launch, m.UID // the master has said who the client is
	return resume, conn.SetReadDeadline(time.Time{})
}

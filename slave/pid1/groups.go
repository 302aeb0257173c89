package pid1

import (
	"errors"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// beginGroup starts to make a group exist. That may have to wait for the ends of stand-ins, and the
// reader of requests must not wait.
func (in *Init) beginGroup(g *errgroup.Group, c *rights.Conn, number uint64, m *wire.InitGroup) {
	if !in.places.Take(ownRequest, 1) {
		in.order.reply(c, number, done(unix.EAGAIN))
		return
	}
	g.Go(func() error {
		defer in.places.Leave(ownRequest, 1)
		in.order.reply(c, number, done(in.group(m)))
		return nil
	})
}

// group makes a group exist in a session.
func (in *Init) group(m *wire.InitGroup) unix.Errno {
	if m.SID <= 0 || m.PGID <= 0 {
		return unix.EINVAL
	}
	for attempt := 0; ; attempt++ {
		sess, g, err := in.standins.use(m.SID, m.PGID)
		switch {
		case err == nil:
			in.standins.leave(sess, g)
			return 0
		case !errors.Is(err, errLost) || attempt == lostAttempts:
			return failed(err).errno
		}
	}
}

func done(errno unix.Errno) *wire.InitDone { return &wire.InitDone{Errno: uint32(errno)} }

package slave

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/pidmap"
	"bproc/slave/core"
	"bproc/wire"
	"bproc/wire/link"
)

// How long an attempt to reach the master may take while there are processes on lease.
const (
	dialsPerLease = 6
	maxDial       = 10 * time.Second
)

// session serves the master over one link, from the inventory to the link's
// end.
func (n *node) session(ctx context.Context, cfg link.DialConfig) error {
	if last := n.linked.Load(); last != nil {
		// A cut during the opening must not take the whole lease.
		cfg.Limit = min(max(last.Lease()/dialsPerLease, time.Second), maxDial)
	}
	l, err := link.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	n.linked.Store(l)
	n.state.step(core.Heard{At: l.LastHeard(), Lease: l.Lease()})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.Run(ctx) })
	group.Go(func() error {
		err := n.serve(ctx, cfg, l)
		l.Close(err)
		return err
	})
	return group.Wait()
}

func (n *node) serve(ctx context.Context, cfg link.DialConfig, l *link.Session) error {
	control, err := l.Open(ctx)
	if err != nil {
		return err
	}
	defer control.Close()
	defer n.state.step(core.SessionLost{})
	defer n.out.Close()
	n.stdios.Session(true)
	defer n.stdios.Session(false)
	session := n.begun + 1
	n.begun = session
	n.recorder.begin(session, n.inventory)
	var streams sync.WaitGroup
	defer streams.Wait()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.out.Run(ctx.Done(), control, nil) })
	certificate := &renewal{log: n.log, identity: cfg.Identity, reconnect: l.Reconnect, put: n.out.put}
	group.Go(func() error { return n.receive(wire.NewReader(control), certificate) })
	group.Go(func() error { return n.accept(ctx, cfg, l, session, &streams) })
	// Every stream ends with the link, and with it the goroutine that reads it.
	stop := context.AfterFunc(ctx, func() { l.Close(context.Cause(ctx)) })
	defer stop()
	return group.Wait()
}

// accept takes the streams that the master opens. streams are those for which the next session waits.
func (n *node) accept(ctx context.Context, cfg link.DialConfig, l *link.Session, session core.Session, streams *sync.WaitGroup) error {
	for {
		stream, err := l.Accept(ctx)
		if err != nil {
			return err
		}
		streams.Add(1)
		n.streams.Go(func() {
			goOn := sync.OnceFunc(streams.Done)
			defer goOn()
			if err := n.serveStream(ctx, cfg, l, session, stream, goOn); err != nil {
				level := slog.LevelDebug
				if errors.Is(err, wire.ErrFrame) { // the process has lost its client by it
					level = slog.LevelWarn
				}
				n.log.Log(ctx, level, "a stream of the master ended", "err", err)
			}
		})
	}
}

// serveStream handles a stream to its end. What it is for is in its first frame. It calls goOn if the next session
// need not wait for that.
func (n *node) serveStream(ctx context.Context, cfg link.DialConfig, l *link.Session, session core.Session, stream link.Stream, goOn func()) error {
	defer stream.Close()
	reader := wire.NewReader(stream)
	first, _, err := reader.Read()
	if err != nil {
		return fmt.Errorf("first frame of a stream: %w", err)
	}
	switch first := first.(type) {
	case *wire.Show:
		return n.viewers.Show(stream, reader, first)
	case *wire.Fetch:
		return n.viewers.Fetch(stream, reader, first)
	case *wire.ReadHardware:
		return n.tellHardware(ctx, stream, first)
	case *wire.Sample:
		return tellLoad(stream)
	case *wire.OpenBypass:
		return n.bypass(ctx, cfg, stream, first)
	case *wire.Spawn:
		goOn() // a start waits for init; where the space is held, only the next session lets init go on
	}
	p := &process{n: n, stream: stream, session: session, ended: l.Done()}
	if err := p.serve(reader, first); err != nil {
		return fmt.Errorf("stream of process %d: %w", p.pid, err)
	}
	return nil
}

// receive handles what the master says on the control stream.
func (n *node) receive(reader *wire.Reader, certificate *renewal) error {
	for served := false; ; served = true {
		m, number, err := reader.Read()
		if err != nil {
			return fmt.Errorf("control stream: %w", err)
		}
		if !served {
			n.state.step(core.Served{})
		}
		switch m := m.(type) {
		case *wire.Signal:
			n.recorder.signal(m)
		case *wire.Return, *wire.Progress, *wire.Reparent, *wire.KillAll:
			n.state.step(core.FromMaster{Number: number, Message: m})
		case *wire.BlocksGranted:
			err = n.granted(m.Blocks)
		case *wire.Budget:
			err = n.budget(m)
		case *wire.HangUp:
			n.stdios.HangUp(m.PID)
			if m.Session {
				err = n.space.HangUp(m.PID)
			}
		case *wire.Power:
			n.powers.begin(m)
		case *wire.Names:
			err = n.names.hear(m)
		case *wire.Renew:
			err = certificate.begin()
		case *wire.RenewReply:
			certificate.done(m)
		default:
			err = fmt.Errorf("%w: type %d on the control stream", wire.ErrFrame, m.Type())
		}
		if err != nil {
			return err
		}
	}
}

// budget bounds the tasks of a user. For a group of the front end it is answered when all
// births are told that were before.
func (n *node) budget(m *wire.Budget) error {
	n.tasks.budget(m)
	if m.Group == 0 {
		return nil
	}
	n.recorder.stamp()
	return n.out.put(&wire.Bounded{UID: m.UID, Tasks: m.Tasks, Group: m.Group})
}

// granted enters blocks of numbers that the master has granted.
func (n *node) granted(blocks []wire.Block) error {
	n.granting.Lock()
	defer n.granting.Unlock()
	all := append(n.numbers.blocks(), blocks...)
	if err := pidmap.Validate(all); err != nil {
		return fmt.Errorf("numbers that the master has granted: %w", err)
	}
	n.state.step(core.Blocks{Blocks: all}) // before the first process has a number of them
	if err := n.numbers.add(blocks); err != nil {
		return err
	}
	n.tasks.have(count(n.numbers.blocks()))
	n.supply.set(true)
	return nil
}

// count returns how many numbers blocks have.
func count(blocks []wire.Block) (numbers int) {
	for _, b := range blocks {
		numbers += int(b.Count)
	}
	return numbers
}

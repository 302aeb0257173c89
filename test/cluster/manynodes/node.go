package manynodes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/link"
)

// node is a simulated node.
type node struct {
	addr     string
	host     string
	identity *link.Identity

	session *link.Session
	control link.Stream

	mu      sync.Mutex // also held while something is written to the control stream
	last    uint64     // number of the last event
	numbers int
	procs   map[wire.PID]uint64 // running ones, with their births
	killed  int                 // number of ended ones
	brief   bool                // processes end as soon as they run
	granted chan struct{}       // closed when it has numbers
	once    sync.Once
	echoes  chan uint64 // numbers of the answers to questions
}

// join enrols the node.
func (n *node) join(ctx context.Context, dir, token string) (err error) {
	n.identity, err = link.Join(ctx, n.addr, token, filepath.Join(dir, n.host), n.host)
	return err
}

// dials is how often a node tries to connect.
const dials = 10

// connect opens a session, sends the inventory, and waits until the node has numbers.
func (n *node) connect(ctx context.Context, group *errgroup.Group) error {
	hello := wire.Hello{Version: wire.Version, Arch: "amd64", Host: n.host, BootID: "boot-" + n.host}
	cfg := link.DialConfig{Addr: n.addr, Identity: n.identity, Hello: hello, Log: slog.New(slog.DiscardHandler)}
	session, err := link.Dial(ctx, cfg)
	for tries := 1; err != nil && tries < dials && !errors.As(err, new(*link.RefusedError)); tries++ { // as a slave does
		session, err = link.Dial(ctx, cfg)
	}
	if err != nil {
		return err
	}
	n.session = session
	group.Go(func() error {
		err := session.Run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("session of %s: %w", n.host, err)
	})
	if n.control, err = session.Open(ctx); err != nil {
		return err
	}
	group.Go(func() error { return n.listen(ctx) })
	group.Go(func() error { return n.accept(ctx, group) })
	if err := n.say(0, &wire.Inventory{Kernel: "6.1.0-simulated", CPUs: 4, Memory: 16 << 30, Names: true}); err != nil {
		return err
	}
	select {
	case <-n.granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *node) say(number uint64, m wire.Message) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return wire.Write(n.control, number, m)
}

// tell sends an event.
func (n *node) tell(e wire.Event) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	events := []wire.Event{e}
	switch e.Kind {
	case wire.EventSpawned:
		if n.procs[e.PID] = e.Birth; n.brief {
			events = append(events, wire.Event{Kind: wire.EventExited, PID: e.PID, Birth: e.Birth})
			n.endedLocked(e.PID)
		}
	case wire.EventExited:
		if e.Birth = n.procs[e.PID]; e.Birth == 0 {
			return nil
		}
		events[0] = e
		n.endedLocked(e.PID)
	default: // other kinds are not recorded
	}
	first := n.last + 1
	n.last += uint64(len(events))
	return wire.Write(n.control, 0, &wire.Events{First: first, Events: events})
}

func (n *node) endedLocked(pid wire.PID) {
	delete(n.procs, pid)
	n.killed++
}

// listen handles the master's messages on the control stream.
func (n *node) listen(ctx context.Context) error {
	reader := wire.NewReader(n.control)
	for {
		m, number, err := reader.Read()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("control stream of %s: %w", n.host, err)
		}
		switch m := m.(type) {
		case *wire.BlocksGranted:
			for _, b := range m.Blocks {
				n.numbers += int(b.Count)
			}
			n.once.Do(func() { close(n.granted) })
		case *wire.Signal:
			err = n.signal(m)
		case *wire.Return:
			n.echoes <- number
		case *wire.KillAll:
			err = errors.New("the master has all processes killed on " + n.host)
		}
		if err != nil {
			return err
		}
	}
}

// signal ends a process by a signal, as most signals do.
func (n *node) signal(m *wire.Signal) error {
	sig := unix.Signal(binary.LittleEndian.Uint32(m.Info))
	if m.Seq != 0 {
		if err := n.say(0, &wire.SignalsTaken{Marks: []wire.Mark{{PID: m.PID, Seq: m.Seq}}, Boot: m.Boot}); err != nil {
			return err
		}
	}
	switch sig {
	case unix.SIGKILL, unix.SIGTERM, unix.SIGINT, unix.SIGHUP:
		return n.tell(wire.Event{Kind: wire.EventExited, PID: m.PID, Status: wire.SignalStatus(int(sig))})
	}
	return nil
}

// endsOf returns what a slave says of a process that reads and writes nothing: all input is taken, and
// no output comes.
func endsOf(c *wire.Command) (frames []byte) {
	for fd, t := range [3]wire.Type{wire.TypeStdinTaken, wire.TypeStdout, wire.TypeStderr} {
		if c.Stdio[fd].Mode == wire.DescriptorStream {
			frames = wire.AppendData(frames, t, [3]uint64{math.MaxUint64}[fd], nil)
		}
	}
	return frames
}

// accept handles launches. The processes have no output, and read nothing.
func (n *node) accept(ctx context.Context, group *errgroup.Group) error {
	for {
		stream, err := n.session.Accept(ctx)
		if err != nil {
			return nil
		}
		group.Go(func() error {
			reader := wire.NewReader(stream)
			first, _, err := reader.Read()
			spawn, ok := first.(*wire.Spawn)
			if err != nil || !ok {
				return stream.Close()
			}
			if err := n.tell(wire.Event{Kind: wire.EventSpawned, PID: spawn.PID, Birth: spawn.Launch}); err != nil {
				return err
			}
			if _, err := stream.Write(endsOf(&spawn.Command)); err != nil {
				return stream.Close()
			}
			_, _ = io.Copy(io.Discard, stream) // until its end, or that of the link
			return stream.Close()
		})
	}
}

// hear waits for the answer to the question with a number.
func (n *node) hear(ctx context.Context, number uint64) error {
	select {
	case got := <-n.echoes:
		if got != number {
			return fmt.Errorf("%s: answer %d, want %d", n.host, got, number)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: no answer: %w", n.host, context.Cause(ctx))
	case <-n.session.Done():
		return fmt.Errorf("%s: %w", n.host, n.session.Err())
	}
}

// isUp reports whether the node has a connection, in its first session.
func (n *node) isUp() bool {
	up, _, _ := n.session.Connected()
	return up && n.session.Err() == nil
}

// awaitUp waits until there is a connection, or none.
func (n *node) awaitUp(ctx context.Context, up bool) error {
	for n.isUp() != up {
		if err := n.session.Err(); err != nil {
			return fmt.Errorf("%s: %w", n.host, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s: connected %v, not %v: %w", n.host, !up, up, context.Cause(ctx))
		}
	}
	return nil
}

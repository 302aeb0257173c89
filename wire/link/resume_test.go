package link_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/wire"
	"bproc/wire/link"
)

// TestNothingIsLost sends data both ways on several streams while connections
// are cut and stalled at random places.
func TestNothingIsLost(t *testing.T) {
	const size, streamCount = 4 << 20, 3
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := newMaster(t, nil)
			p := newProxy(t, m.addr())
			id := m.identity()
			random := rand.New(rand.NewPCG(seed, 1))
			stalls := 4 // each takes the time until the silence is noticed
			p.each(func() fate {
				f := fate{after: 1 + random.IntN(4<<20)}
				if random.IntN(4) == 0 { // during the opening, or soon after
					f.after = 1 + random.IntN(6000)
				}
				if random.IntN(4) == 0 && stalls > 0 {
					stalls--
					f.stall = true
				}
				return f
			})
			slave, here := dialUntil(t, m, id, p.addr())
			background(t, slave.Run)
			background(t, here.Run)

			g, ctx := errgroup.WithContext(t.Context())
			for n := range uint64(streamCount) {
				at, from := streams(t, slave, here)
				for i, end := range []link.Stream{at, from} {
					g.Go(func() error { return send(ctx, end, 10*n+uint64(i), size) })
					g.Go(func() error { return receive(end, 10*n+uint64(1-i), size) })
				}
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			if n := p.connections(); n < 5 {
				t.Errorf("only %d connections were needed", n)
			}
		})
	}
}

// dialUntil dials until a first connection survives the opening.
func dialUntil(t *testing.T, m *master, id *link.Identity, addr string) (slave, here *link.Session) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it may be stalled
		slave, err := link.Dial(ctx, dialConfig(id, addr))
		cancel()
		if err != nil {
			if refusal(err) != "" {
				t.Fatal(err)
			}
			continue
		}
		for {
			here := m.session()
			if here.Link() == slave.Link() {
				return slave, here
			}
			here.Close(nil) // the slave did not get its Welcome
		}
	}
}

func send(ctx context.Context, w io.WriteCloser, seed uint64, size int) error {
	random := rand.NewChaCha8([32]byte{byte(seed)})
	buf := make([]byte, 100_000)
	for sent := 0; sent < size; {
		n := min(1+int(random.Uint64()%uint64(len(buf))), size-sent)
		fill(buf[:n], seed, sent)
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		sent += n
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return w.Close()
}

// fill fills b with bytes that depend on their offset.
func fill(b []byte, seed uint64, offset int) {
	for i := range b {
		n := uint64(offset + i)
		b[i] = byte(n ^ n>>8*31 ^ n>>16*17 ^ seed)
	}
}

func receive(r io.Reader, seed uint64, size int) error {
	got, want := sha256.New(), sha256.New()
	n, err := io.Copy(got, r)
	if err != nil {
		return err
	}
	buf := make([]byte, size)
	fill(buf, seed, 0)
	want.Write(buf)
	if int(n) != size || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		return fmt.Errorf("%d bytes received, %d expected, or others", n, size)
	}
	return nil
}

// TestShortStall checks that a connection that only pauses is kept.
func TestShortStall(t *testing.T) {
	m := newMaster(t, func(c *link.ListenConfig) { c.Interval = time.Second })
	slave, here := m.pair(m.addr())
	at, from := streams(t, slave, here)
	exchange(t, from, at, "before")
	_, since, _ := slave.Connected()
	exchange(t, at, from, "after")
	if _, now, _ := slave.Connected(); !now.Equal(since) {
		t.Errorf("the connection of %v was replaced at %v", since, now)
	}
}

// TestSignsOfLife checks that a link without data stays up, and that signs of life are heard.
func TestSignsOfLife(t *testing.T) {
	const interval = 10 * testInterval // a busy machine does not stand still for three of them
	m := newMaster(t, func(cfg *link.ListenConfig) { cfg.Interval = interval })
	slave, here := m.pair(m.addr())
	_, since, _ := slave.Connected()
	sessions := []*link.Session{slave, here}
	heard := make([][]time.Time, len(sessions))
	for len(heard[0]) <= 5 || len(heard[1]) <= 5 {
		for i, s := range sessions {
			if last := s.LastHeard(); !slices.Contains(heard[i], last) {
				heard[i] = append(heard[i], last)
			}
		}
		time.Sleep(interval / 10)
	}
	if _, now, _ := slave.Connected(); !now.Equal(since) {
		t.Errorf("the connection of %v was replaced at %v", since, now)
	}
	if got := slave.Lease(); got != testLease {
		t.Errorf("the slave's lease is %v, want %v", got, testLease)
	}
}

// TestCutIsSeen checks that both ends notice a cut and its end, and that bytes written meanwhile
// arrive in the same streams.
func TestCutIsSeen(t *testing.T) {
	m := newMaster(t, nil)
	p := newProxy(t, m.addr())
	slave, here := m.pair(p.addr())
	at, from := streams(t, slave, here)
	exchange(t, from, at, "before")

	p.open(false)
	awaitConnected(t, slave, false)
	awaitConnected(t, here, false)
	for _, s := range []link.Stream{at, from} {
		if _, err := io.WriteString(s, "meanwhile"); err != nil {
			t.Fatal(err)
		}
	}
	p.open(true)
	awaitConnected(t, slave, true)
	awaitConnected(t, here, true)
	for _, s := range []link.Stream{at, from} {
		got := make([]byte, len("meanwhile"))
		if _, err := io.ReadFull(s, got); err != nil || string(got) != "meanwhile" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if len(m.sessions) != 0 {
		t.Error("the master got a second session")
	}
}

// TestBoundedWhileCut checks that a cut link accepts a bounded number of bytes, and goes on
// afterwards.
func TestBoundedWhileCut(t *testing.T) {
	m := newMaster(t, nil)
	p := newProxy(t, m.addr())
	slave, here := m.pair(p.addr())
	// A window bounds one stream; many are needed to fill the link.
	const count = 2 * link.SendBuffer >> 18
	pairs := make([][2]link.Stream, count)
	for i := range pairs {
		pairs[i][0], pairs[i][1] = streams(t, slave, here)
	}
	p.open(false)
	awaitConnected(t, here, false)
	var g errgroup.Group
	for _, pair := range pairs {
		g.Go(func() error { return send(context.Background(), pair[1], 7, 256<<10) })
	}
	for !here.Full() {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("do not wait"))
	if _, err := here.Open(ctx); err == nil || err.Error() != "do not wait" {
		t.Errorf("open on a full link: got %v", err)
	}
	p.open(true)
	for _, pair := range pairs {
		g.Go(func() error { return receive(pair[0], 7, 256<<10) })
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// TestNotResumed checks that a master that was restarted does not know the link.
func TestNotResumed(t *testing.T) {
	m := newMaster(t, nil)
	p := newProxy(t, m.addr())
	id := m.identity()
	slave, here := m.dial(id, p.addr())
	background(t, slave.Run)
	background(t, here.Run)
	at, from := streams(t, slave, here)
	exchange(t, from, at, "before")

	m.stop()
	second := newMasterOf(t, m.authority, nil)
	p.retarget(second.addr()) // no connection gets through until the first one is cut
	if err := ended(t, slave); !errors.Is(err, link.ErrNotResumed) {
		t.Errorf("got %v, want %v", err, link.ErrNotResumed)
	}
	if _, err := at.Read(make([]byte, 1)); err == nil {
		t.Error("a stream of an ended session can be read")
	}
	if _, err := slave.Open(t.Context()); !errors.Is(err, link.ErrNotResumed) {
		t.Errorf("open: got %v, want %v", err, link.ErrNotResumed)
	}
	// The node connects anew.
	slave, here = second.dial(id, p.addr())
	background(t, slave.Run)
	background(t, here.Run)
	at, from = streams(t, slave, here)
	exchange(t, at, from, "after")
}

// TestLinkOfAnother checks that another node cannot use the name of a link.
func TestLinkOfAnother(t *testing.T) {
	m := newMaster(t, nil)
	slave, here := m.pair(m.addr())
	thief := m.identity()
	w, c, err := thief.Say(t.Context(), m.addr(), &wire.Hello{Version: wire.Version, Link: slave.Link()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if w.Resumed || w.Link != "" {
		t.Errorf("got %+v", w)
	}
	at, from := streams(t, slave, here)
	exchange(t, at, from, "undisturbed")
}

// TestOutOfDate checks that a hello with impossible offsets harms only its own connection.
func TestOutOfDate(t *testing.T) {
	m := newMaster(t, nil)
	id := m.identity()
	slave, here := m.dial(id, m.addr())
	background(t, slave.Run)
	background(t, here.Run)
	at, from := streams(t, slave, here)
	exchange(t, at, from, "before")
	if _, _, err := id.Say(t.Context(), m.addr(), &wire.Hello{Version: wire.Version, Link: slave.Link(), Received: 1 << 40}); err == nil {
		t.Error("a link with bytes that were never sent was resumed")
	}
	m.log.wait(t, "offset is not in the link")
	exchange(t, at, from, "after")
}

// TestKeyIsChanged checks that a connection is replaced after a number of bytes.
func TestKeyIsChanged(t *testing.T) {
	m := newMaster(t, nil)
	p := newProxy(t, m.addr())
	slave, here := m.dial(m.identity(), p.addr())
	slave.LimitKey(1 << 20)
	background(t, slave.Run)
	background(t, here.Run)
	at, from := streams(t, slave, here)
	var g errgroup.Group
	g.Go(func() error { return send(t.Context(), at, 3, 5<<20) })
	g.Go(func() error { return receive(from, 3, 5<<20) })
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := p.connections(); n < 5 {
		t.Errorf("got %d connections, want at least 5", n)
	}
}

// TestClose checks that the other end learns the reason at once.
func TestClose(t *testing.T) {
	for _, tt := range []struct {
		name  string
		close func(slave, here *link.Session, stopSlave, stopHere func()) (other *link.Session)
		want  string
	}{
		{"master", func(slave, here *link.Session, _, _ func()) *link.Session {
			here.Close(errors.New("node was taken out"))
			return slave
		}, "node was taken out"},
		{"slave", func(slave, here *link.Session, _, _ func()) *link.Session {
			slave.Close(nil)
			return here
		}, link.ErrClosed.Error()},
		{"end of the slave's context", func(slave, here *link.Session, stopSlave, _ func()) *link.Session {
			stopSlave()
			return here
		}, context.Canceled.Error()},
		{"end of the master's context", func(slave, here *link.Session, _, stopHere func()) *link.Session {
			stopHere()
			return slave
		}, context.Canceled.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t, nil)
			slave, here := m.dial(m.identity(), m.addr())
			stopSlave, stopHere := background(t, slave.Run), background(t, here.Run)
			at, from := streams(t, slave, here)
			exchange(t, at, from, "before")
			other := tt.close(slave, here, stopSlave, stopHere)
			err := ended(t, other)
			closed := (*link.ClosedError)(nil)
			if !errors.As(err, &closed) || closed.Reason != tt.want {
				t.Errorf("got %v, want closed by the other side: %s", err, tt.want)
			}
		})
	}
}

// TestCloseDeliversWhatWasWritten checks that the data arrive before the end.
func TestCloseDeliversWhatWasWritten(t *testing.T) {
	m := newMaster(t, nil)
	slave, here := m.pair(m.addr())
	at, from := streams(t, slave, here)
	const size = 512 << 10
	if err := send(t.Context(), from, 5, size); err != nil {
		t.Fatal(err)
	}
	here.Close(nil)
	_ = ended(t, slave)
	if err := receive(at, 5, size); err != nil {
		t.Error(err)
	}
}

// TestCloseWithoutRun checks that a session that never ran can be ended.
func TestCloseWithoutRun(t *testing.T) {
	m := newMaster(t, nil)
	slave, here := m.dial(m.identity(), m.addr())
	slave.Close(nil)
	here.Close(nil)
	if err := slave.Run(t.Context()); !errors.Is(err, link.ErrClosed) {
		t.Errorf("slave: got %v, want %v", err, link.ErrClosed)
	}
	if _, err := here.Open(t.Context()); !errors.Is(err, link.ErrClosed) {
		t.Errorf("master: got %v, want %v", err, link.ErrClosed)
	}
}

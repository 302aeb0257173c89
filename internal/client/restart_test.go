package client_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/fakemaster"
	"bproc/test/limit"
	"bproc/wire"
)

// echo is a process that gives back what it reads, on a node whose masters die. What
// has come of a piece of input or output when one dies is left to chance.
type echo struct {
	t    *testing.T
	rand *rand.Rand
	one  sync.Mutex // connection is served at a time

	mu      sync.Mutex
	more    sync.Cond    // what follows has changed
	got     bytes.Buffer // taken
	taken   int          // of the output, as far as the client has said so
	eof     bool
	gone    bool // nothing comes from this client any more
	masters atomic.Int32
}

func newEcho(t *testing.T, seed uint64) *echo {
	e := &echo{t: t, rand: rand.New(rand.NewPCG(seed, 0))}
	e.more.L = &e.mu
	return e
}

// serve serves one connection for a while.
func (e *echo) serve(c *fakemaster.Conn, m wire.Message) {
	e.one.Lock()
	defer e.one.Unlock()
	e.masters.Add(1)
	var sent int
	switch m := m.(type) {
	case *wire.Run:
		c.Started()
	case *wire.Attach:
		if sent = int(m.Output[0]); sent > e.got.Len() {
			e.t.Errorf("the client has %d bytes of %d", sent, e.got.Len())
		}
		c.Resumed(uint64(e.got.Len()))
	}
	e.gone = false
	c.Took = func() { e.took(int(c.Taken[0])) }
	var reading sync.WaitGroup
	reading.Go(func() { e.read(c) })
	switch e.write(c, sent) {
	case processEnds:
		c.EndOutputs()
		c.EndProcess(wire.ExitStatus(7))
	case masterDies:
		c.Close()
	case clientLeaves:
		c.EndProcess(wire.SignalStatus(int(unix.SIGHUP)))
	}
	reading.Wait()
}

// How a connection ends.
type ending int

const (
	processEnds ending = iota
	masterDies
	clientLeaves
)

// read takes input to its end, or that of the connection.
func (e *echo) read(c *fakemaster.Conn) {
	for {
		b, err := c.Input()
		e.mu.Lock()
		e.got.Write(b)
		e.eof = e.eof || errors.Is(err, io.EOF)
		e.gone = err != nil && !errors.Is(err, io.EOF)
		e.more.Broadcast()
		gone := e.gone
		e.mu.Unlock()
		if gone {
			return
		}
	}
}

// took takes in how much of the output the client has taken.
func (e *echo) took(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taken = n
	e.more.Broadcast()
}

// write gives output back, as far as there is room for it, until the connection is to end.
func (e *echo) write(c *fakemaster.Conn, sent int) ending {
	for left := e.rand.IntN(40); ; left-- {
		e.mu.Lock()
		for !e.gone && (sent == e.got.Len() && !e.eof || sent-e.taken >= wire.Window) {
			e.more.Wait()
		}
		rest, over, gone := e.got.Bytes()[sent:], e.eof, e.gone
		room := max(0, wire.Window-(sent-e.taken))
		e.mu.Unlock()
		n := min(len(rest), room, 1+e.rand.IntN(wire.MaxData))
		switch {
		case left == 0: // only a part of a frame comes through
			c.Part(wire.TypeStdout, string(rest[:n]), e.rand.IntN(wire.HeaderSize+n))
			return masterDies
		case len(rest) == 0 && over:
			return processEnds
		case gone, c.Output(wire.TypeStdout, string(rest[:n])) != nil:
			return clientLeaves
		}
		sent += n
	}
}

// TestNothingIsLost has the connection break at any place in both directions.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(6) {
		e := newEcho(t, seed)
		m := fakemaster.Start(t, e.serve)
		const size = 4 << 20
		h := sha256.New()
		cmd := m.Client.Command(2, "cat")
		cmd.Stdin, cmd.Stdout = io.LimitReader(newPattern(), size), h
		if status, err := run(t.Context(), cmd); status != wire.ExitStatus(7) || err != nil {
			t.Errorf("seed %d: %v, status %#x", seed, err, status)
		}
		if string(h.Sum(nil)) != sum(t, io.LimitReader(newPattern(), size)) {
			t.Errorf("seed %d: the checksum is wrong", seed)
		}
		t.Logf("seed %d: %d masters", seed, e.masters.Load())
	}
}

// TestRunAgain has masters die before they have answered, and then have no room for a while.
func TestRunAgain(t *testing.T) {
	var mu sync.Mutex
	var seen []wire.Run
	const all = 5
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		mu.Lock()
		seen = append(seen, *m.(*wire.Run))
		n := len(seen)
		mu.Unlock()
		switch n {
		case 3:
			c.Fail(wire.StageRequest, uint32(unix.EAGAIN), "", 0)
		case 4:
			c.Fail(wire.StageRequest, uint32(unix.EMFILE), "", 0)
		case all:
			c.Started()
			c.End(wire.ExitStatus(3))
		}
	})
	cmd := m.Client.Command(2, "prog")
	status, err := run(t.Context(), cmd)
	mu.Lock()
	defer mu.Unlock()
	if status != wire.ExitStatus(3) || err != nil || len(seen) != all {
		t.Fatalf("status %#x, %v, %d requests", status, err, len(seen))
	}
	for i, run := range seen {
		if run.Again != (i > 0) || run.Launch == 0 || run.Launch != seen[0].Launch || run.Ghost != seen[0].Ghost {
			t.Errorf("request %d: again %v, launch %d, ghost %d", i, run.Again, run.Launch, run.Ghost)
		}
	}
}

// TestInputBeforeWait writes more input than the window has room for, and waits for
// the process only then, which says a lot meanwhile.
func TestInputBeforeWait(t *testing.T) {
	const chatter = 400 << 10
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		var talking sync.WaitGroup
		talking.Go(func() {
			for n := 0; n < chatter; n += 1 << 10 {
				if err := c.Output(wire.TypeStdout, string(make([]byte, 1<<10))); err != nil {
					t.Error(err)
				}
			}
		})
		for {
			if _, err := c.Input(); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				break
			}
		}
		talking.Wait()
		c.End(0)
	})
	r, w := io.Pipe()
	var out bytes.Buffer
	cmd := m.Client.Command(2, "prog")
	cmd.Stdin, cmd.Stdout = r, &out
	if err := cmd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 4*wire.Window)); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if status, err := cmd.Wait(); err != nil || status != 0 || out.Len() != chatter {
		t.Errorf("status %#x, %v, %d bytes", status, err, out.Len())
	}
}

// TestWindow sends no more input than the node has room for, and says what has been
// taken of the output.
func TestWindow(t *testing.T) {
	full := make(chan struct{})
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		got := 0
		for got < wire.Window {
			n, err := c.Frame()
			if err != nil {
				t.Error(err)
				return
			}
			got += n
		}
		close(full)
		for range 4 {
			_ = c.Output(wire.TypeStdout, string(make([]byte, wire.MaxData)))
		}
		for c.Taken[0] < 3*wire.MaxData {
			n, err := c.Frame()
			if err != nil || n > 0 {
				t.Errorf("%d bytes beyond the window, %v", n, err)
				return
			}
		}
		c.End(0)
	})
	cmd := m.Client.Command(2, "prog")
	cmd.Stdin, cmd.Stdout = newPattern(), io.Discard
	if status, err := run(t.Context(), cmd); err != nil || status != 0 {
		t.Error(status, err)
	}
	select {
	case <-full:
	case <-time.After(limit.Scaled(time.Second)):
		t.Error("the window was not filled")
	}
}

// TestEndOfInput breaks the connection after the end of input was sent, and has the
// client say it again, though nobody reads output.
func TestEndOfInput(t *testing.T) {
	var ends atomic.Int32
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, ok := m.(*wire.Run); ok {
			c.Started()
			for range 2 { // "all" and the end
				if _, err := c.Frame(); err != nil {
					t.Error(err)
				}
			}
			ends.Add(1)
			return
		}
		c.Resumed(1)
		if b, err := c.Input(); string(b) != "ll" {
			t.Errorf("got %q, %v", b, err)
		}
		if _, err := c.Input(); errors.Is(err, io.EOF) {
			ends.Add(1)
		}
		c.End(0) // the client would come again if this connection ended first
	})
	cmd := m.Client.Command(2, "prog")
	cmd.Stdin = bytes.NewReader([]byte("all"))
	if status, err := run(t.Context(), cmd); err != nil || status != 0 || ends.Load() != 2 {
		t.Errorf("status %#x, %v, %d ends", status, err, ends.Load())
	}
}

// TestTakenAgain breaks the connection when the client has said what it has taken of the
// output. That may be lost, so it says it again.
func TestTakenAgain(t *testing.T) {
	const told = wire.Window / 2
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		_, run := m.(*wire.Run)
		if run {
			c.Started()
			for range told / wire.MaxData {
				_ = c.Output(wire.TypeStdout, string(make([]byte, wire.MaxData)))
			}
		} else {
			c.Resumed(0)
		}
		for c.Taken[0] < told {
			if n, err := c.Frame(); n > 0 || err != nil {
				t.Errorf("%d bytes of input, %v", n, err)
				return
			}
		}
		if !run {
			c.End(0)
		}
	})
	cmd := m.Client.Command(2, "prog")
	cmd.Stdout = io.Discard
	if status, err := run(t.Context(), cmd); err != nil || status != 0 {
		t.Error(status, err)
	}
}

// TestNoRoom has a master without room for a client that comes back, twice. The client asks again.
func TestNoRoom(t *testing.T) {
	var attached atomic.Int32
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, ok := m.(*wire.Run); ok {
			c.Started()
			return
		}
		switch attached.Add(1) {
		case 1:
			c.Fail(wire.StageRequest, uint32(unix.EMFILE), "no descriptors", 0)
		case 2:
			c.Fail(wire.StageRequest, uint32(unix.EAGAIN), "", 0)
		default:
			c.Resumed(0)
			_ = c.Output(wire.TypeStdout, "text")
			c.End(wire.ExitStatus(7))
		}
	})
	cmd := m.Client.Command(2, "prog")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(limit.Scaled(10*time.Second), func() { m.End(cmd.PID, 0) })
	defer late.Stop()
	if status, err := cmd.Wait(); status != wire.ExitStatus(7) || err != nil || out.String() != "text" {
		t.Errorf("got status %#x, %v, output %q", status, err, &out)
	}
}

// TestNodesOfTheNextMaster has a master end while it is asked for the nodes.
func TestNodesOfTheNextMaster(t *testing.T) {
	var asked atomic.Int32
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		if asked.Add(1) > 1 {
			c.Send(&wire.NodeList{Nodes: []wire.Node{{ID: 7}}})
		}
	})
	nodes, err := m.Client.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].ID != 7 {
		t.Errorf("got %v, %v", nodes, err)
	}
}

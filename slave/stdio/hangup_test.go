package stdio

import (
	"errors"
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
	"bproc/wire"
)

// awaitPipe waits until nobody reads what a process writes any more.
func awaitPipe(t *testing.T, d *Descriptors, fd int) {
	t.Helper()
	for deadline := time.Now().Add(limit.Scaled(15 * time.Second)); ; time.Sleep(time.Millisecond) {
		// The runtime makes SIGPIPE of these descriptors an error.
		if _, err := d.pipes.end[fd].Write([]byte("x")); errors.Is(err, unix.EPIPE) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("descriptor %d is still read", fd)
		}
	}
}

// TestHangUp has the client of a process leave that reads none of its input.
func TestHangUp(t *testing.T) {
	const pid = 4711
	s := ways(t)
	d, other := enter(t, s, pid, 1), enter(t, s, pid+1, 2)
	for _, d := range []*Descriptors{d, other} {
		attach(t, d, [2]uint64{})
		d.Run()
	}
	s.HangUp(pid)
	awaitPipe(t, d, 1)
	awaitPipe(t, d, 2)
	if _, err := other.pipes.end[1].Write([]byte("x")); err != nil {
		t.Errorf("another process was hung up: %v", err)
	}
	if err := d.in.accept(d.at, []byte("late")); err != nil {
		t.Errorf("input: %v", err)
	}
	d.Closed(d.at)
	if got, err := io.ReadAll(d.pipes.end[0]); string(got) != "late" || err != nil {
		t.Errorf("the process reads %q, %v, want what came before the end", got, err)
	}
}

// TestNextOfNumber has another process get the number of one whose client has not come
// back.
func TestNextOfNumber(t *testing.T) {
	s := ways(t)
	first := enter(t, s, 4711, 1)
	first.Run()
	second := enter(t, s, 4711, 2)
	second.Run()
	awaitPipe(t, first, 1)
	if s.Find(4711) != second {
		t.Error("the second process is not there")
	}
	attach(t, second, [2]uint64{})
	if _, err := second.pipes.end[1].Write([]byte("x")); err != nil {
		t.Error(err)
	}
}

// TestLeaving has the daemon end with all processes: no client comes back to one of
// them, and none is started.
func TestLeaving(t *testing.T) {
	s := ways(t)
	before := enter(t, s, 4711, 1)
	before.Run()
	a := attach(t, before, [2]uint64{})
	s.Cut()
	if _, err := a.stream.Write(nil); err == nil {
		t.Error("the stream is open")
	}
	if _, err := s.Of(&wire.Resume{PID: 4711, Launch: 1}); !errors.Is(err, unix.EHOSTDOWN) {
		t.Errorf("Resume: %v, want %v", err, unix.EHOSTDOWN)
	}
	for _, d := range []*Descriptors{before, enter(t, s, 4712, 1)} {
		err := d.Attach(&Client{stream: newClient()}, [2]uint64{}, func(uint64) error { return nil })
		if !errors.Is(err, unix.EHOSTDOWN) {
			t.Errorf("attach to %d: %v, want %v", d.pid, err, unix.EHOSTDOWN)
		}
	}
}

// TestExpire has clients not come back.
func TestExpire(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name           string
		ended, session bool
		since, begun   time.Duration // ago
		gone           bool
	}{
		{"both long ago", true, true, 2 * keepTime, 2 * keepTime, true},
		{"it lives", false, true, 2 * keepTime, 2 * keepTime, false},
		{"just lost", true, true, time.Second, 2 * keepTime, false},
		{"a new session", true, true, 2 * keepTime, time.Second, false},
		{"no session", true, false, 2 * keepTime, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := ways(t)
			d := enter(t, s, 4711, 1)
			d.Run()
			a := attach(t, d, [2]uint64{})
			d.Lost(a)
			if c.ended {
				s.Ended(d.pid)
			}
			s.Session(c.session)
			d.since = now.Add(-c.since)
			if c.session {
				s.begun = now.Add(-c.begun)
			}
			s.expire(now)
			err := d.Attach(&Client{stream: newClient()}, [2]uint64{}, func(uint64) error { return nil })
			if errors.Is(err, errNoProcess) != c.gone {
				t.Errorf("attach: %v, want gone %v", err, c.gone)
			}
		})
	}
}

// TestOutputComesAgain has streams end without the client having taken all.
func TestOutputComesAgain(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	d.Run()
	if _, err := d.pipes.end[1].Write([]byte("before")); err != nil {
		t.Fatal(err)
	}
	expect := func(a *Client, want string) {
		t.Helper()
		for got := ""; got != want; {
			h, data := a.stream.(*client).next(t)
			if h.Type != wire.TypeStdout || h.Number != 77 || len(data) == 0 {
				t.Fatalf("frame %+v %q after %q, want %q", h, data, got, want)
			}
			got += string(data)
		}
	}
	a := attach(t, d, [2]uint64{})
	expect(a, "before")
	d.Lost(a)
	if _, err := d.pipes.end[1].Write([]byte(" and after")); err != nil {
		t.Fatal(err)
	}
	expect(attach(t, d, [2]uint64{3}), "ore and after")
	b := attach(t, d, [2]uint64{6}) // takes the place of the one before
	expect(b, " and after")
	if err := d.frame(b, wire.Header{Type: wire.TypeStdoutTaken, Number: 10}, nil); err != nil {
		t.Fatal(err)
	}
	d.Lost(b)
	err := d.Attach(&Client{stream: newClient()}, [2]uint64{9}, func(uint64) error { return nil })
	if !errors.Is(err, wire.ErrFrame) {
		t.Errorf("bytes that were taken: %v, want %v", err, wire.ErrFrame)
	}
	c := attach(t, d, [2]uint64{16})
	d.pipes.closeFar()
	for range 2 {
		if h, data := c.stream.(*client).next(t); len(data) != 0 || h.Type != wire.TypeStdout && h.Type != wire.TypeStderr {
			t.Errorf("frame %+v %q, want the ends", h, data)
		}
	}
}

// TestTakenLate has a client come back that has got more than it has taken.
func TestTakenLate(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	d.Run()
	if _, err := d.pipes.end[1].Write([]byte("before")); err != nil {
		t.Fatal(err)
	}
	takes := func(a *Client, n uint64) {
		t.Helper()
		if err := d.frame(a, wire.Header{Type: wire.TypeStdoutTaken, Number: n}, nil); err != nil {
			t.Fatal(err)
		}
	}
	a := attach(t, d, [2]uint64{})
	if h, data := a.stream.(*client).next(t); h.Type != wire.TypeStdout || string(data) != "before" {
		t.Fatalf("frame %+v %q", h, data)
	}
	takes(a, 2)
	d.Lost(a)
	b := attach(t, d, [2]uint64{6})
	for _, c := range []struct{ says, kept uint64 }{{2, 2}, {4, 4}, {3, 4}, {6, 6}} {
		takes(b, c.says)
		if got := d.out[0].kept.Taken(); got != c.kept {
			t.Errorf("%d bytes are taken after %d were said to be, want %d", got, c.says, c.kept)
		}
	}
}

// TestFormerStream has what a client has sent by one stream come after it has come back
// by another, by which it sends it again.
func TestFormerStream(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	d.Run()
	a := attach(t, d, [2]uint64{})
	b := attach(t, d, [2]uint64{})
	for _, from := range []*Client{a, b} {
		if err := d.frame(from, wire.Header{Type: wire.TypeStdin}, []byte("once")); err != nil {
			t.Fatal(err)
		}
	}
	d.Closed(b)
	if got, err := io.ReadAll(d.pipes.end[0]); string(got) != "once" || err != nil {
		t.Errorf("the process reads %q, %v", got, err)
	}
}

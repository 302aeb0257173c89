package link

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// TestTakesNothing checks links whose other side says something, but acknowledges nothing.
func TestTakesNothing(t *testing.T) {
	const lease, silence = 30 * time.Second, 9 * time.Second
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	tcp, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	for name, takes := range map[string]struct {
		sent bool             // there is something to acknowledge
		step func(*link, int) // between two checks
		want error
	}{
		"idle":    {false, func(*link, int) {}, nil},
		"takes":   {true, func(l *link, _ int) { l.out.add(make([]byte, 10)); l.acked += 10 }, nil},
		"nothing": {true, func(*link, int) {}, errNotTaken},
		"not more": {true, func(l *link, i int) {
			if i == 0 {
				l.acked++
			}
		}, errNotTaken},
		"again and again another connection": {true, func(l *link, _ int) { l.stuck = l.heard }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink("", pace{lease: lease, silence: silence}, func() {})
			l.cur = &conn{link: l, raw: &batch{TCPConn: tcp.(*net.TCPConn)}, lost: make(chan struct{})}
			if takes.sent {
				l.out.add(make([]byte, 100))
			}
			l.check(l.heard)
			for i := range 20 {
				l.mu.Lock()
				takes.step(l, i)
				l.heard = l.heard.Add(silence / 2)
				now := l.heard
				l.mu.Unlock()
				l.check(now)
			}
			if err := l.reason(); !errors.Is(err, takes.want) {
				t.Errorf("got %v, want %v", err, takes.want)
			}
		})
	}
}

// TestAwaitRoom waits for room in a full link: until there is some, its end, or that of a context.
func TestAwaitRoom(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(*link, context.CancelFunc)
		want error
	}{
		"room":    {func(l *link, _ context.CancelFunc) { l.mu.Lock(); defer l.mu.Unlock(); _ = l.ackLocked(1, 1) }, nil},
		"closed":  {func(l *link, _ context.CancelFunc) { l.close(ErrClosed, false) }, ErrClosed},
		"context": {func(_ *link, cancel context.CancelFunc) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink("", newPace(time.Minute, time.Second), func() {})
			if err := l.awaitRoom(t.Context()); err != nil {
				t.Fatal(err)
			}
			l.out.add(make([]byte, sendBuffer+1))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			answer := make(chan error)
			go func() { answer <- l.awaitRoom(ctx) }()
			select {
			case err := <-answer:
				t.Fatalf("got %v at once", err)
			case <-time.After(20 * time.Millisecond):
			}
			test.end(l, cancel)
			if err := <-answer; !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

package link

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// tcp returns a connection whose other end sends nothing.
func tcp(t *testing.T) *net.TCPConn {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestSilence checks that a connection is given up three intervals after the last sign of life, at
// whatever time in an interval that came.
func TestSilence(t *testing.T) {
	const interval = 3 * time.Second
	for _, last := range []time.Duration{0, time.Millisecond, time.Second, interval - 1, interval, 7 * time.Second} {
		raw := tcp(t)
		synctest.Test(t, func(t *testing.T) {
			l := newLink("link", newPace(10*interval, interval), func() {})
			c := newConn(l, nil, &batch{TCPConn: raw})
			if err := l.attach(c, 0); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			time.AfterFunc(last, func() {
				if err := c.acknowledged(0); err != nil { // a sign of life
					t.Error(err)
				}
			})
			if c.watch(); !errors.Is(c.err, errSilent) {
				t.Errorf("got %v, want %v", c.err, errSilent)
			}
			if got, want := time.Since(begin), last+3*interval; got != want {
				t.Errorf("last sign after %v: given up after %v, want %v", last, got, want)
			}
		})
	}
}

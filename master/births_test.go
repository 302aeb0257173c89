package master

import (
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// TestBirths checks that a client is told when a process of a node has become known.
func TestBirths(t *testing.T) {
	l := newLookedAt(t)
	count := l.m.births.count.Load()
	receive(t, l.ask(core.Caller{UID: 1000}, &wire.Births{Version: wire.Version}), 0, &wire.Born{Count: count})
	receive(t, l.ask(core.Caller{}, &wire.Births{Version: wire.Version, After: count + 7}), 0, &wire.Born{Count: count})
	var waiting []net.Conn
	for _, uid := range []uint32{0, 1000} {
		waiting = append(waiting, l.ask(core.Caller{UID: uid}, &wire.Births{Version: wire.Version, After: count}))
	}
	l.m.input(t, core.Run{Client: 99, Who: core.Caller{PID: 1, UID: 1000}, Node: 3, PID: 70})
	for _, client := range waiting {
		receive(t, client, 0, &wire.Born{Count: count + 1})
	}
}

// midwife is a master that counts births, in synthetic time.
type midwife struct{ m *Master }

func inBubble(t *testing.T, test func(t *testing.T, w midwife)) {
	synctest.Test(t, func(t *testing.T) {
		test(t, midwife{&Master{log: slog.New(slog.DiscardHandler), births: newBirths(time.Now())}})
	})
}

// wait has a client wait for births. It returns the client's end of the connection, and a channel
// that is closed when the request has ended.
func (w midwife) wait(t *testing.T, uid uint32) (client net.Conn, ended <-chan struct{}) {
	master, client := net.Pipe()
	done := make(chan struct{})
	after := w.m.births.count.Load()
	go func() {
		defer close(done)
		c := &clientConn{m: w.m, log: w.m.log, conn: master, who: core.Caller{UID: uid}, spoken: func() {}}
		c.serve(t.Context())
	}()
	send(t, client, 0, &wire.Births{Version: wire.Version, After: after})
	synctest.Wait()
	return client, done
}

// left fails the test if a client still counts as waiting.
func (w midwife) left(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if left := w.m.births.waiting.count; len(left) != 0 {
		t.Errorf("there are still those who wait, by user: %v", left)
	}
}

// TestNoBirths checks that a client that waits is told after some time that there are no births.
func TestNoBirths(t *testing.T) {
	inBubble(t, func(t *testing.T, w midwife) {
		client, ended := w.wait(t, 1000)
		time.Sleep(birthsTime - 1)
		select {
		case <-ended:
			t.Fatal("the request has ended early")
		default:
		}
		count := w.m.births.count.Load()
		receive(t, client, 0, &wire.Born{Count: count})
		<-ended
		w.left(t)
	})
}

// TestWhoWaitsLeaves checks that a request ends when its client leaves or sends more.
func TestWhoWaitsLeaves(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, net.Conn){
		"leaves":    func(_ *testing.T, client net.Conn) { client.Close() },
		"says more": func(t *testing.T, client net.Conn) { _, _ = client.Write([]byte{0}); client.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w midwife) {
				client, ended := w.wait(t, 1000)
				begin := time.Now()
				leave(t, client)
				<-ended
				if took := time.Since(begin); took != 0 {
					t.Errorf("the request has ended after %v", took)
				}
				w.left(t)
			})
		})
	}
}

// TestManyWait checks the bound on the requests of a user that wait, and that each user has its
// own.
func TestManyWait(t *testing.T) {
	inBubble(t, func(t *testing.T, w midwife) {
		var waiting []net.Conn
		for range maxLooks {
			client, _ := w.wait(t, 1000)
			waiting = append(waiting, client)
		}
		other, _ := w.wait(t, 1001)
		refused, ended := w.wait(t, 1000)
		receive(t, refused, 0, &wire.Failed{Stage: wire.StageRequest, Errno: uint32(unix.EAGAIN)})
		<-ended
		w.m.births.add()
		for _, client := range append(waiting, other) {
			receive(t, client, 0, &wire.Born{Count: w.m.births.count.Load()})
		}
		w.left(t)
	})
}

// TestBirthsWakeOnce checks that births after the first wake no client until one waits again.
func TestBirthsWakeOnce(t *testing.T) {
	b := newBirths(time.Unix(1_000_000, 0))
	bell := b.rung()
	b.add()
	select {
	case <-bell:
	default:
		t.Error("a birth has woken nobody up")
	}
	if b.awaited.Load() || b.bell != nil {
		t.Error("somebody is still to be woken up")
	}
	b.add()
	if got, want := b.count.Load(), uint64(1_000_000*time.Second+2); got != want {
		t.Errorf("got count %d, want %d", got, want)
	}
	if other := newBirths(time.Unix(1_000_001, 0)); other.count.Load() <= b.count.Load() {
		t.Error("the next master's count can be this one's")
	}
}

// BenchmarkBirth measures what a birth costs the core while nobody waits.
func BenchmarkBirth(b *testing.B) {
	count := newBirths(time.Now())
	for b.Loop() {
		count.add()
	}
}

package master

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"bproc/master/core"
	"bproc/test/limit"
	"bproc/wire"
)

// cutLink is a link that is cut, until it is healed or ends.
type cutLink struct {
	noLink
	done chan struct{}

	mu      sync.Mutex
	up      bool
	changed chan struct{}
}

func (l *cutLink) Done() <-chan struct{} { return l.done }

func (l *cutLink) Connected() (bool, time.Time, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up, time.Time{}, l.changed
}

func (l *cutLink) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = true
	close(l.changed)
}

// TestAttachOverCutLink has a client go on with a process while the link of the node is cut. The node is not asked before
// the link is there again, and never if the client has not waited: it would take that for a client that leaves.
func TestAttachOverCutLink(t *testing.T) {
	for _, tc := range []struct {
		name  string
		then  func(link *cutLink, client net.Conn, stop func())
		asked bool
	}{
		{"healed", func(l *cutLink, _ net.Conn, _ func()) { l.heal() }, true},
		{"the session ends", func(l *cutLink, _ net.Conn, _ func()) { close(l.done) }, false},
		{"the client leaves", func(_ *cutLink, c net.Conn, _ func()) { c.Close() }, false},
		{"the client leaves, healed", func(l *cutLink, c net.Conn, _ func()) { c.Close(); l.heal() }, false},
		{"the master ends", func(_ *cutLink, _ net.Conn, stop func()) { stop() }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLookedAt(t)
			link := &cutLink{done: make(chan struct{}), changed: make(chan struct{})}
			l.sess.link = link
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			master, client := socketPair(t)
			send(t, client, 0, &wire.Attach{Version: wire.Version, Node: 3, Ghost: 60})
			served := make(chan struct{})
			go func() {
				defer close(served)
				(&clientConn{m: l.m, log: l.m.log, conn: master, who: core.Caller{PID: 100}, spoken: func() {}, steps: make(chan step, maxSteps)}).serve(ctx)
			}()
			select {
			case <-l.streams:
				t.Fatal("the node is asked over a link that is cut")
			case <-served:
				t.Fatal("the client's connection has ended")
			case <-time.After(30 * time.Millisecond):
			}
			tc.then(link, client, stop)
			if tc.asked {
				node := l.node()
				receive(t, node, 0, &wire.Resume{PID: 60})
				send(t, node, 0, &wire.Resumed{Taken: 5})
				receive(t, client, 0, &wire.Started{Taken: 5})
				node.Close()
				client.Close()
			}
			select {
			case <-served:
			case <-time.After(limit.Scaled(20 * time.Second)):
				t.Fatal("the client's connection is kept")
			}
			select {
			case <-l.streams:
				t.Error("the node is asked for a client that has not waited")
			default:
			}
		})
	}
}

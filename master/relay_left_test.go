package master

import (
	"io"
	"testing"
	"time"

	"bproc/master/core"
	"bproc/test/limit"
	"bproc/wire"
)

// TestClientLeavesWhileOutputWaits has a node send output that waits for an event that never
// happens, and the client leave. Nothing of its connection may stay.
func TestClientLeavesWhileOutputWaits(t *testing.T) {
	l := newLookedAt(t)
	master, client := socketPair(t)
	send(t, client, 0, &wire.Attach{Version: wire.Version, Node: 3, Ghost: 60})
	served := make(chan struct{})
	go func() {
		defer close(served)
		(&clientConn{m: l.m, log: l.m.log, conn: master, who: core.Caller{PID: 100}, spoken: func() {}, steps: make(chan step, maxSteps)}).serve(t.Context())
	}()
	node := l.node()
	go func() { _, _ = io.Copy(io.Discard, node) }() // to its end
	send(t, node, 0, new(wire.Resumed))
	if _, err := node.Write(wire.AppendData(nil, wire.TypeStdout, 1<<62, []byte("text"))); err != nil {
		t.Fatal(err)
	}
	patience := time.After(limit.Scaled(20 * time.Second))
	b := &l.sess.barrier
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		waits = b.moved != nil
		b.mu.Unlock()
		select {
		case <-patience:
			t.Fatal("the output is not held back")
		default:
		}
	}
	client.Close()
	select {
	case <-served:
	case <-patience:
		t.Fatal("the connection of a client that has left is kept")
	}
}

// TestClientCutOff has the session with a client's node end. The connection of the client ends with it,
// though the process, on another node, says nothing.
func TestClientCutOff(t *testing.T) {
	l := newLookedAt(t)
	conn, client := socketPair(t)
	process, node := socketPair(t)
	cut, ending := make(chan struct{}), make(chan struct{})
	from := &slaveConn{m: l.m, link: &cutLink{done: cut}, node: 5, ending: ending}
	c := &clientConn{m: l.m, log: l.m.log, conn: conn, from: from, steps: make(chan step, maxSteps)}
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		_ = c.relay(t.Context(), 60, l.sess, process)
	}()
	close(cut)
	client.Close()
	select {
	case <-relayed:
	case <-time.After(limit.Scaled(20 * time.Second)):
		t.Error("the connection is kept")
	}
	close(ending)
	node.Close()
	_ = l.m.slaves.Wait()
}

package master

import (
	"context"
	"errors"
	"net"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/test/limit"
	"bproc/wire"
	"bproc/wire/link"
)

// madeUpStreams gets the other ends of the streams that are opened.
type madeUpStreams chan net.Conn

func (s madeUpStreams) Open(context.Context) (link.Stream, error) {
	ours, theirs := net.Pipe()
	s <- theirs
	return piped{ours}, nil
}

// piped is a pipe as a stream of a link.
type piped struct{ net.Conn }

func (p piped) WriteLate(b []byte) (int, error) { return p.Write(b) }
func (piped) Hurry()                            {}
func (p piped) Drop() error                     { return p.Close() }
func (piped) Gone() <-chan struct{}             { return nil }

// lookedAt is a master with node 3, which has process 60, and a client of it. Node 4, which is
// down, has 61, and node 5 has never been up.
type lookedAt struct {
	t       *testing.T
	m       *Master
	sess    *slaveConn
	streams madeUpStreams
}

func newLookedAt(t *testing.T) *lookedAt {
	t.Helper()
	l := &lookedAt{t: t, m: newMade(t, 3, 4, 5), streams: make(madeUpStreams, 1)}
	begun := time.Now().Add(-time.Hour) // nothing is waited for any more
	l.m.state.core.Step(begun, core.KeeperFound{Held: []core.Held{heldFor(60, 3, 1000, 1000), heldFor(61, 4, 0, 0), heldFor(63, 3, 1002, 0)}})
	l.sess = l.m.connect(t, 3, l.streams, 60, 63)
	down := l.m.connect(t, 4, l.streams, 61)
	l.m.input(t, core.FromNode{Session: down.id, Message: &wire.Leaving{Empty: true}})
	return l
}

// ask has a client make a request, and returns its end of the connection. The test
// waits for the end of the master's.
func (l *lookedAt) ask(who core.Caller, request wire.Message) net.Conn {
	l.t.Helper()
	master, client := socketPair(l.t)
	send(l.t, client, 0, request)
	served := make(chan struct{})
	go func() {
		defer close(served)
		(&clientConn{m: l.m, log: l.m.log, conn: master, who: who, spoken: func() {}}).serve(l.t.Context())
	}()
	l.t.Cleanup(func() { client.Close(); <-served })
	return client
}

// node returns the node's end of the stream that was opened last.
func (l *lookedAt) node() net.Conn {
	stream := <-l.streams
	l.t.Cleanup(func() { stream.Close() })
	return stream
}

func send(t *testing.T, to net.Conn, number uint64, m wire.Message) {
	t.Helper()
	if err := wire.Write(to, number, m); err != nil {
		t.Fatalf("send %T: %v", m, err)
	}
}

// receive expects a message within a generous time.
func receive(t *testing.T, from net.Conn, number uint64, want wire.Message) {
	t.Helper()
	if err := from.SetReadDeadline(time.Now().Add(limit.Scaled(20 * time.Second))); err != nil {
		t.Fatal(err)
	}
	got, n, err := wire.NewReader(from).Read()
	if err != nil || n != number || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %d %+v, %v, want %d %+v", n, got, err, number, want)
	}
}

func TestLook(t *testing.T) {
	l := newLookedAt(t)
	client := l.ask(core.Caller{UID: 1000}, &wire.Look{Version: wire.Version, Node: 3})
	node := l.node()
	receive(t, node, 0, &wire.Show{UID: 1000})
	send(t, client, 7, new(wire.Refresh))
	receive(t, node, 7, new(wire.Refresh))
	texts := func(pids ...wire.PID) (all []wire.Texts) {
		for _, pid := range pids {
			all = append(all, wire.Texts{PID: pid})
		}
		return all
	}
	send(t, node, 7, &wire.Changed{Event: 5, Procs: texts(60, 61, 62), Ended: []wire.PID{60, 61, 64}})
	if err := client.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if m, _, err := wire.NewReader(client).Read(); !isTimeout(err) {
		t.Fatalf("before the births that it may tell of: got %+v, %v", m, err)
	}
	l.sess.barrier.Move(5)
	receive(t, client, 7, &wire.Changed{Event: 5, Procs: texts(60), Ended: []wire.PID{60, 64}})
	for _, m := range []wire.Message{&wire.Shown{BootID: "boot", Uptime: 9}, new(wire.Refreshed)} {
		send(t, node, 7, m)
		receive(t, client, 7, m)
	}
	client.Close()
	if m, _, err := wire.NewReader(node).Read(); err == nil {
		t.Errorf("after the client has left the node gets %+v", m)
	}
}

// TestLookEnds has either side send a message that it must not.
func TestLookEnds(t *testing.T) {
	for name, spoil := range map[string]func(client, node net.Conn) error{
		"client": func(client, _ net.Conn) error { return wire.Write(client, 0, new(wire.KillAll)) },
		"node": func(_, node net.Conn) error { // no more is read than this
			var header [wire.HeaderSize]byte
			wire.Header{Type: wire.TypeNodeList, Length: wire.MaxCommand}.Put(header[:])
			_, err := node.Write(header[:])
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLookedAt(t)
			client := l.ask(core.Caller{}, &wire.Look{Version: wire.Version, Node: 3})
			node := l.node()
			receive(t, node, 0, &wire.Show{Environ: true}) // root looks
			if err := spoil(client, node); err != nil {
				t.Fatal(err)
			}
			for _, conn := range []net.Conn{client, node} {
				if m, _, err := wire.NewReader(conn).Read(); err == nil {
					t.Errorf("got %+v", m)
				}
			}
		})
	}
}

func TestInspect(t *testing.T) {
	l := newLookedAt(t)
	client := l.ask(core.Caller{UID: 1000, GID: 1001, Groups: []uint32{4}},
		&wire.Inspect{Version: wire.Version, Node: 3, PID: 60, Start: 8, Kind: wire.FetchLink, Path: "exe"})
	node := l.node()
	receive(t, node, 0, &wire.Fetch{PID: 60, Start: 8, Kind: wire.FetchLink, Path: "exe", UID: 1000, GID: 1001, Groups: []uint32{4}})
	for _, piece := range []*wire.Piece{{Data: []byte("/bin/sh")}, {Errno: 1, Last: true}} {
		send(t, node, 0, piece)
		receive(t, client, 0, piece)
	}
	if m, _, err := wire.NewReader(node).Read(); err == nil {
		t.Errorf("after the last piece the node gets %+v", m)
	}
}

func TestLookRefused(t *testing.T) {
	failed := func(stage wire.Stage, errno unix.Errno) wire.Message {
		return &wire.Failed{Stage: stage, Errno: uint32(errno)}
	}
	const v = wire.Version
	for name, tc := range map[string]struct{ request, want wire.Message }{
		"unknown node":            {&wire.Look{Version: v, Node: 9}, failed(wire.StageNode, unix.ENXIO)},
		"node that was never up":  {&wire.Look{Version: v, Node: 5}, failed(wire.StageNode, unix.EHOSTDOWN)},
		"node that is down":       {&wire.Look{Version: v, Node: 4}, failed(wire.StageNode, unix.EHOSTDOWN)},
		"no process":              {&wire.Inspect{Version: v, Node: 3, PID: 62}, failed(wire.StageNode, unix.ESRCH)},
		"process of another node": {&wire.Inspect{Version: v, Node: 3, PID: 61}, failed(wire.StageNode, unix.ESRCH)},
	} {
		t.Run(name, func(t *testing.T) {
			receive(t, newLookedAt(t).ask(core.Caller{}, tc.request), 0, tc.want)
		})
	}
}

// TestLooksAreBounded has users look more often than they may.
func TestLooksAreBounded(t *testing.T) {
	var v viewers
	var leave []func()
	for range maxLooks {
		l, ok := v.enter(1000)
		if !ok {
			t.Fatal("refused within the bound")
		}
		leave = append(leave, l)
	}
	if _, ok := v.enter(1000); ok {
		t.Error("no bound")
	}
	for _, uid := range []uint32{0, 1001} {
		for range maxLooks {
			if _, ok := v.enter(uid); !ok {
				t.Errorf("user %d is refused for another one's", uid)
			}
		}
	}
	leave[0]()
	if _, ok := v.enter(1000); !ok {
		t.Error("refused after another has left")
	}
}

var errMadeUp = errors.New("made up")

type brokenStreams struct{}

func (brokenStreams) Open(context.Context) (link.Stream, error) { return nil, errMadeUp }

func TestLookAtBrokenNode(t *testing.T) {
	l := newLookedAt(t)
	l.sess.streams = brokenStreams{}
	receive(t, l.ask(core.Caller{}, &wire.Look{Version: wire.Version, Node: 3}), 0, &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.EHOSTDOWN)})
}

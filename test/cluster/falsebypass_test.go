package cluster_test

import (
	"crypto/rand"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/wire"
	"bproc/wire/bypass"
	"bproc/wire/link"
)

// bypassLies are what a false node does when it is asked for a bypass.
var bypassLies = map[string]func(n *falseNode, b *falseBypass){
	"refuse": func(n *falseNode, b *falseBypass) {
		n.answer(b, &wire.Resumed{Errno: 1 << 31})
	},
	"another message": func(n *falseNode, b *falseBypass) {
		n.answer(b, new(wire.KillAll))
	},
	"stay away": func(n *falseNode, b *falseBypass) {
		n.answer(b, new(wire.Resumed))
	},
	"tokens of nobody": func(n *falseNode, b *falseBypass) {
		n.answer(b, new(wire.Resumed))
		for range 20 {
			token := make([]byte, wire.BypassToken)
			_, _ = rand.Read(token) // it does not fail
			if conn, err := n.dialBypass(token); err == nil {
				conn.Close()
				n.t.Error("a connection with a token of nobody is taken")
			}
		}
	},
	"one token twice": func(n *falseNode, b *falseBypass) {
		conn := n.bypassFor(b)
		defer conn.Close()
		if second, err := n.dialBypass(b.open.Token); err == nil {
			second.Close()
			n.t.Error("a second connection with a token is taken")
		}
	},
	"nothing on it": func(n *falseNode, b *falseBypass) {
		conn := n.bypassFor(b)
		n.t.Cleanup(func() { conn.Close() })
	},
	"garbage": func(n *falseNode, b *falseBypass) {
		conn := n.bypassFor(b)
		defer conn.Close()
		n.hear(conn)
		_, _ = conn.Write([]byte("\xdd\x0f\xff\xff\xff garbage")) // it may be closed
	},
	"other messages": func(n *falseNode, b *falseBypass) {
		conn := n.bypassFor(b)
		defer conn.Close()
		n.hear(conn)
		for _, m := range []wire.Message{&wire.Resumed{Taken: 1 << 62}, new(wire.Started), new(wire.Failed), new(wire.Spawn)} {
			_ = wire.Write(conn, 1<<62, m) // it may be closed
		}
	},
	"output after events that never come": func(n *falseNode, b *falseBypass) {
		conn := n.bypassFor(b)
		defer conn.Close()
		n.hear(conn)
		_ = wire.Write(conn, 0, new(wire.Resumed))                                   // it may be closed
		_, _ = conn.Write(wire.AppendData(nil, wire.TypeStdout, 1<<60, []byte("x"))) // likewise
	},
}

// forgedBypasses has clients ask for bypasses, and lies to the master, and to the clients over the bypass.
func forgedBypasses(n *falseNode, _ *witness) {
	for name, lie := range bypassLies {
		cmd, l := n.launchTo(io.Discard, cluster.Alice)
		n.tell(l.event(wire.EventSpawned))
		go l.writeMuch() // ends with the stream
		var b *falseBypass
		select {
		case b = <-n.bypasses:
		case <-time.After(lineTimeout):
			n.t.Fatalf("%s: the node is not asked for a bypass", name)
		}
		if b.open.PID != l.spawn.PID || b.open.UID != cluster.Alice.UID {
			n.t.Errorf("%s: asked for %+v, want process %d of user %d", name, b.open, l.spawn.PID, cluster.Alice.UID)
		}
		lie(n, b)
		if err := cmd.Process.Signal(unix.SIGKILL); err != nil {
			n.t.Errorf("%s: the client has ended: %v", name, err)
		}
		n.tell(l.event(wire.EventExited))
		l.stream.Close()
	}
	n.told()
}

// writeMuch writes as much output as makes a client ask for a bypass, and a little more.
func (l *falseLaunch) writeMuch() {
	data := make([]byte, 64<<10)
	for range 5 << 20 / len(data) {
		_ = l.stream.SetWriteDeadline(time.Now().Add(sayTime)) // the write returns the error
		if _, err := l.stream.Write(wire.AppendData(nil, wire.TypeStdout, 0, data)); err != nil {
			return
		}
	}
}

// answer answers the master's question for a bypass.
func (n *falseNode) answer(b *falseBypass, m wire.Message) {
	n.t.Helper()
	if err := wire.Write(b.stream, 0, m); err != nil {
		n.t.Error(err)
	}
	b.stream.Close()
}

// dialBypass connects to the master with a token.
func (n *falseNode) dialBypass(token []byte) (conn *bypass.Conn, err error) {
	err = n.machine.Do(func() (err error) {
		conn, err = link.DialBypass(n.t.Context(), n.addr(), n.identity, token)
		return err
	})
	return conn, err
}

// bypassFor makes a bypass as an honest node does.
func (n *falseNode) bypassFor(b *falseBypass) *bypass.Conn {
	n.t.Helper()
	conn, err := n.dialBypass(b.open.Token)
	if err != nil {
		n.t.Fatal(err)
	}
	n.answer(b, new(wire.Resumed))
	return conn
}

// hear reads what the client says first.
func (n *falseNode) hear(conn *bypass.Conn) {
	n.t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(sayTime)); err != nil {
		n.t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, bypass.MaxRecord)); err != nil {
		n.t.Errorf("the client says nothing on a bypass: %v", err)
	}
}

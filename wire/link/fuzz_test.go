package link_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bproc/wire"
	"bproc/wire/link"
)

// running has the sessions of a master, which run until they are ended.
type running struct {
	mu  sync.Mutex
	all []*link.Session
	end sync.WaitGroup
}

func (r *running) add(s *link.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, s)
	r.end.Go(func() { _ = s.Run(context.Background()) })
}

// endAll ends the sessions that were added since the last call.
func (r *running) endAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.all {
		s.Close(errors.New("the test is over"))
	}
	r.all = nil
	r.end.Wait()
}

// The beginnings of a peer of FuzzPeer.
const (
	withCertificate = iota // then it sends anything
	resumes                // a link of its own, then it sends anything on it
	toJoin                 // without a certificate
	toAsk
	beginnings
)

// FuzzPeer connects to the master, with the certificate of a node or without, and sends anything.
// The link of another node goes on meanwhile, and no other session is left.
func FuzzPeer(f *testing.F) {
	const patience = 20 * time.Second
	var sessions running
	m := newMaster(f, func(cfg *link.ListenConfig) {
		accept := cfg.Accept
		cfg.Accept = func(p link.Peer, s *link.Session) {
			if p.Host == "n1" { // the honest one
				accept(p, s)
				return
			}
			sessions.add(s)
		}
	})
	f.Cleanup(sessions.endAll)
	addr := m.addr()
	slave, here := m.pair(addr)
	at, from := streams(f, slave, here)
	id := m.identity()

	for _, says := range openings(f) {
		for mode := range uint8(beginnings) {
			f.Add(mode, uint64(0), says)
		}
		f.Add(uint8(resumes), uint64(1<<40), says)
	}
	f.Fuzz(func(t *testing.T, mode uint8, received uint64, says []byte) {
		defer sessions.endAll()
		config := id.ClientConfig()
		switch mode % beginnings {
		case resumes:
			w, former, err := id.Say(t.Context(), addr, &wire.Hello{Version: wire.Version, Host: "liar"})
			if err != nil {
				t.Fatal(err)
			}
			defer former.NetConn().Close()
			hello, err := wire.Append(nil, 0, &wire.Hello{Version: wire.Version, Host: "liar", Link: w.Link, Received: received})
			if err != nil {
				t.Fatal(err)
			}
			says = append(hello, says...)
		case toJoin:
			config = &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"bproc-join"}}
		case toAsk:
			config = &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"bproc-about"}}
		}
		conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = conn.Write(says)
			_ = conn.(*tls.Conn).CloseWrite()
			_ = conn.(*tls.Conn).NetConn().(*net.TCPConn).CloseWrite()
		}()
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
			t.Errorf("the master does not part with who has said %x and no more: %v", says, err)
		}
		exchange(t, at, from, "undisturbed")
	})
}

func isTimeout(err error) bool {
	timeout := net.Error(nil)
	return errors.As(err, &timeout) && timeout.Timeout()
}

// openingMessages are first messages of a peer.
var openingMessages = []wire.Message{
	&wire.Hello{Version: wire.Version, Host: "liar"}, &wire.Hello{}, &wire.Hello{Version: wire.Version, Host: "a\nb"},
	&wire.Hello{Version: wire.Version, Host: "liar", Link: "another's"},
	&wire.JoinRequest{Version: wire.Version, Secret: make([]byte, 16), CSR: []byte{0x30}}, new(wire.KillAll),
	&wire.BypassHello{Token: make([]byte, wire.BypassToken)}, new(wire.BypassHello),
}

// openings are the bytes that a node may send first, and then on its link.
func openings(f *testing.F) [][]byte {
	f.Helper()
	record := func(kind, length uint32, payload ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, kind|length<<8), payload...)
	}
	records := [][]byte{
		nil,
		record(1, 12, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7),  // yamux: a ping
		record(1, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0),  // a stream
		record(1, 12, 0, 0, 0, 0, 0, 0, 0, 9, 0, 16, 0, 0), // data for no stream
		record(2, 8, 0, 0, 0, 0, 0, 0, 0, 0),
		record(2, 8, 1, 0, 0, 0, 0, 0, 0, 0), // for a byte that was not sent
		record(3, 3, 'b', 'y', 'e'),
		record(1, 0), record(4, 1, 0), record(1, 1<<24-1),
	}
	var all [][]byte
	for _, m := range openingMessages {
		hello, err := wire.Append(nil, 0, m)
		if err != nil {
			f.Fatal(err)
		}
		for _, record := range records {
			all = append(all, append(hello[:len(hello):len(hello)], record...))
		}
	}
	return append(all, records...)
}

// TestOpeningsAreFuzzed checks that FuzzPeer uses all messages that PROTOCOL.md lets a slave begin
// with.
func TestOpeningsAreFuzzed(t *testing.T) {
	protocol, err := os.ReadFile("../PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(protocol), "### Between machines: the opening")
	section, _, _ = strings.Cut(section, "\n### ")
	names := regexp.MustCompile(`(?m)^\| \d+ \| (\w+) \| slave > `).FindAllStringSubmatch(section, -1)
	if len(names) == 0 {
		t.Fatal("the protocol names no message of a slave")
	}
	for _, name := range names {
		if !slices.ContainsFunc(openingMessages, func(m wire.Message) bool { return reflect.TypeOf(m).Elem().Name() == name[1] }) {
			t.Errorf("FuzzPeer does not say %s", name[1])
		}
	}
}

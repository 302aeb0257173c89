package link_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/wire"
	"bproc/wire/link"
)

// TestGarbage checks that a connection that is not a slave's causes one line in the log, and harms
// no other connection.
func TestGarbage(t *testing.T) {
	m := newMaster(t, nil)
	id := m.identity()
	other := newMaster(t, nil).identity()

	slave, here := m.pair(m.addr())
	at, from := streams(t, slave, here)

	oversized := make([]byte, wire.HeaderSize)
	wire.Header{Type: wire.TypeHello, Length: wire.MaxOpening + 1}.Put(oversized)
	long := make([]byte, wire.HeaderSize) // of a message with a larger bound
	wire.Header{Type: wire.TypeNodeList, Length: wire.MaxCommand}.Put(long)
	for _, tt := range []struct {
		name string
		say  func(t *testing.T, c net.Conn)
		log  string // part of that line
	}{
		{"not TLS", func(_ *testing.T, c net.Conn) {
			_, _ = c.Write([]byte("GET / HTTP/1.1\r\nHost: n\r\n\r\n"))
		}, "does not look like a TLS handshake"},
		{"nothing", func(_ *testing.T, c net.Conn) { _ = c.Close() }, "EOF"},
		{"TLS 1.2", func(_ *testing.T, c net.Conn) {
			config := id.ClientConfig()
			config.MinVersion, config.MaxVersion = 0, tls.VersionTLS12
			_ = tls.Client(c, config).Handshake()
		}, "unsupported versions"},
		{"no certificate", func(_ *testing.T, c net.Conn) {
			config := id.ClientConfig()
			config.Certificates = nil
			_ = tls.Client(c, config).Handshake()
		}, "didn't provide a certificate"},
		{"certificate of another authority", func(_ *testing.T, c net.Conn) {
			config := id.ClientConfig()
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &other.ClientConfig().Certificates[0], nil
			}
			_ = tls.Client(c, config).Handshake()
		}, "unknown authority"},
		{"certificate of the master", func(_ *testing.T, c net.Conn) {
			config := id.ClientConfig()
			chosen, err := m.authority.ServerConfig().GetConfigForClient(&tls.ClientHelloInfo{})
			if err != nil {
				t.Error(err)
			}
			config.Certificates = chosen.Certificates
			_ = tls.Client(c, config).Handshake()
		}, "incompatible key usage"},
		{"no application protocol", func(t *testing.T, c net.Conn) {
			config := id.ClientConfig()
			config.NextProtos = nil
			if err := tls.Client(c, config).Handshake(); err != nil {
				t.Error(err)
			}
		}, "application protocol"},
		{"link without certificate on the protocol for joining", func(t *testing.T, c net.Conn) {
			config := id.ClientConfig()
			config.Certificates, config.NextProtos = nil, []string{"bproc-join"}
			say(t, tls.Client(c, config), &wire.Hello{Version: wire.Version})
		}, "message of type 1, 4 expected"},
		{"join on the protocol for links", func(t *testing.T, c net.Conn) {
			say(t, tls.Client(c, id.ClientConfig()), &wire.JoinRequest{Version: wire.Version})
		}, "message of type 4, 1 expected"},
		{"long message of another type, without certificate", func(_ *testing.T, c net.Conn) {
			config := id.ClientConfig()
			config.Certificates, config.NextProtos = nil, []string{"bproc-join"}
			_, _ = tls.Client(c, config).Write(long)
		}, "4 expected"},
		{"long message of another type", func(_ *testing.T, c net.Conn) {
			_, _ = tls.Client(c, id.ClientConfig()).Write(long)
		}, "1 expected"},
		{"no frame", func(_ *testing.T, c net.Conn) {
			_, _ = tls.Client(c, id.ClientConfig()).Write(bytes.Repeat([]byte{0xff}, 100))
		}, "unknown type"},
		{"frame too large", func(_ *testing.T, c net.Conn) {
			_, _ = tls.Client(c, id.ClientConfig()).Write(oversized)
		}, "at most"},
		{"old version", func(t *testing.T, c net.Conn) {
			say(t, tls.Client(c, id.ClientConfig()), &wire.Hello{Version: wire.MinVersion - 1})
		}, "protocol version"},
		{"line break in a name", func(t *testing.T, c net.Conn) {
			say(t, tls.Client(c, id.ClientConfig()), &wire.Hello{Version: wire.Version, Host: "n1\nn2"})
		}, "characters"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := net.Dial("tcp", m.addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			tt.say(t, c)
			if t.Failed() {
				return
			}
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			mine := "addr=" + c.LocalAddr().String()
			lines := m.log.wait(t, mine)
			if len(lines) != 1 || !strings.Contains(lines[0], tt.log) || !strings.Contains(lines[0], "connection was refused") {
				t.Errorf("got log lines %q, want one with %q", lines, tt.log)
			}
			exchange(t, at, from, "undisturbed")
		})
	}
	if len(m.sessions) != 0 {
		t.Error("a session came of it")
	}
}

// say sends a message after the handshake.
func say(t *testing.T, c *tls.Conn, m wire.Message) {
	t.Helper()
	if err := wire.Write(c, 0, m); err != nil {
		t.Error(err)
	}
}

// TestRefusals checks that the slave gets the reason as an error of its own type.
func TestRefusals(t *testing.T) {
	m := newMaster(t, func(c *link.ListenConfig) {
		c.Admit = func(p link.Peer) error {
			if p.Host == "gone" {
				return &link.RefusedError{Reason: "node " + p.Host + " was taken out"}
			}
			return nil
		}
	})
	id, other := m.identity(), newMaster(t, nil).identity()
	for _, tt := range []struct {
		name string
		dial func() error
		want string // part of the reason; empty: not a refusal
	}{
		{"not admitted", func() error {
			cfg := dialConfig(id, m.addr())
			cfg.Hello.Host = "gone"
			_, err := link.Dial(t.Context(), cfg)
			return err
		}, "node gone was taken out"},
		{"old version", func() error {
			_, _, err := id.Say(t.Context(), m.addr(), &wire.Hello{Version: wire.MinVersion - 1})
			return err
		}, "protocol version 0"},
		{"other authority, which we do not trust either", func() error {
			_, err := link.Dial(t.Context(), dialConfig(other, m.addr()))
			return err
		}, ""},
		{"other authority", func() error {
			mixed := id.ClientConfig()
			mixed.Certificates = other.ClientConfig().Certificates
			return dialWith(m.addr(), mixed)
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.dial()
			if err == nil {
				t.Fatal("no error")
			}
			if reason := refusal(err); !strings.Contains(reason, tt.want) || (reason == "") != (tt.want == "") {
				t.Errorf("got %v, want the reason %q", err, tt.want)
			}
		})
	}
}

// dialWith makes the handshake and waits for an answer, which does not come.
func dialWith(addr string, config *tls.Config) error {
	c, err := tls.Dial("tcp", addr, config)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	return err
}

// TestNotTheMaster checks that a slave rejects a master that has not proved to be its own.
func TestNotTheMaster(t *testing.T) {
	m := newMaster(t, nil)
	id, fellow := m.identity(), m.identity()
	second := new(state).open(t)
	impostor := func(config *tls.Config) string {
		config.NextProtos = []string{"bproc-link", "bproc-join"}
		ln, err := tls.Listen("tcp", "127.0.0.1:0", config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				_ = c.(*tls.Conn).Handshake()
				c.Close()
			}
		}()
		return ln.Addr().String()
	}
	token, _, err := m.authority.NewToken(link.Terms{Node: 1, Life: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	// The other master's certificate, with its whole chain.
	chosen, err := second.ServerConfig().GetConfigForClient(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	// A slave's certificate, followed by the authority's, which has the fingerprint.
	posing := fellow.ClientConfig().Certificates[0]
	posing.Certificate = slices.Concat(posing.Certificate, masterChain(t, m)[1:])

	for _, tt := range []struct {
		name   string
		config *tls.Config
		want   string
	}{
		{"another master", &tls.Config{Certificates: chosen.Certificates}, "master"},
		{"another slave", &tls.Config{Certificates: []tls.Certificate{posing}}, masterName},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := impostor(tt.config)
			if _, err := link.Dial(t.Context(), dialConfig(id, addr)); err == nil || refusal(err) != "" {
				t.Errorf("dial: got %v, want a failed verification", err)
			}
			_, err := link.Join(t.Context(), addr, token, filepath.Join(t.TempDir(), "id"), "n1")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("join: got %v, want %q", err, tt.want)
			}
		})
	}
}

const masterName = "master.bproc.internal"

func masterChain(t *testing.T, m *master) [][]byte {
	t.Helper()
	chosen, err := m.authority.ServerConfig().GetConfigForClient(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return chosen.Certificates[0].Certificate
}

// TestMalformedRecords checks that a slave that sends malformed records loses its session, and is
// told so; others keep theirs.
func TestMalformedRecords(t *testing.T) {
	m := newMaster(t, nil)
	id := m.identity()
	slave, here := m.pair(m.addr())
	at, from := streams(t, slave, here)

	record := func(kind byte, length int, payload ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(kind)|uint32(length)<<8), payload...)
	}
	for _, tt := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"unknown kind", record(9, 0), "malformed link record: kind 9"},
		{"oversized", record(1, 1<<24-1), "malformed link record: kind 1"},
		{"empty", record(1, 0), "malformed link record: kind 1"},
		{"acknowledgement of another size", record(2, 4, 0, 0, 0, 0), "malformed link record: kind 2"},
		{"acknowledgement of what was not sent", record(2, 8, 0, 0, 0, 0, 1, 0, 0, 0), "offset is not in the link"},
		{"no yamux", record(1, 12, bytes.Repeat([]byte{0xee}, 12)...), "malformed frame of yamux"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, c, err := id.Say(t.Context(), m.addr(), &wire.Hello{Version: wire.Version})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			bad := m.session()
			background(t, bad.Run)
			if _, err := c.Write(tt.bytes); err != nil {
				t.Fatal(err)
			}
			err = ended(t, bad)
			if !errors.Is(err, link.ErrProtocol) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %v with %q", err, link.ErrProtocol, tt.want)
			}
			said, _ := io.ReadAll(c)
			if !bytes.Contains(said, []byte(err.Error())) {
				t.Errorf("the reason is not in %q", said)
			}
			exchange(t, at, from, "undisturbed")
		})
	}
}

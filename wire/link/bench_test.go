package link_test

import (
	"io"
	"net"
	"testing"
)

const benchBlock = 64 << 10

// pump measures how fast b.N blocks go from w to r.
func pump(b *testing.B, w io.Writer, r io.Reader) {
	b.SetBytes(benchBlock)
	b.ReportAllocs()
	done := make(chan error, 1)
	b.ResetTimer()
	go func() {
		buf := make([]byte, benchBlock)
		left := int64(b.N) * benchBlock
		for left > 0 {
			n, err := r.Read(buf)
			if err != nil {
				done <- err
				return
			}
			left -= int64(n)
		}
		done <- nil
	}()
	block := make([]byte, benchBlock)
	for range b.N {
		if _, err := w.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// pingPong measures a small message to the other end and back.
func pingPong(b *testing.B, near, far io.ReadWriter) {
	go func() { _, _ = io.CopyBuffer(struct{ io.Writer }{far}, struct{ io.Reader }{far}, make([]byte, 1024)) }()
	msg := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := near.Write(msg); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(near, msg); err != nil {
			b.Fatal(err)
		}
	}
}

func tcpPair(b *testing.B) (near, far net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	if near, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		b.Fatal(err)
	}
	if far, err = ln.Accept(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

func BenchmarkThroughputTCP(b *testing.B) {
	near, far := tcpPair(b)
	pump(b, near, far)
}

func BenchmarkThroughputStream(b *testing.B) {
	m := newMaster(b, nil)
	at, from := streams2(b, m)
	pump(b, from, at)
}

func BenchmarkRoundTripTCP(b *testing.B) {
	near, far := tcpPair(b)
	pingPong(b, near, far)
}

func BenchmarkRoundTripStream(b *testing.B) {
	m := newMaster(b, nil)
	at, from := streams2(b, m)
	pingPong(b, from, at)
}

func streams2(b *testing.B, m *master) (at, from io.ReadWriter) {
	slave, here := m.pair(m.addr())
	return streams(b, slave, here)
}

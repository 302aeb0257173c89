package link_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire/link"
)

// TestAllAtOnce has many slaves lose their connections at the same moment, while the master
// authenticates only one at a time: each waits for its turn, and none is rejected for those behind
// it.
func TestAllAtOnce(t *testing.T) {
	const slaves = 30
	m := newMaster(t, func(cfg *link.ListenConfig) {
		cfg.Opening = 1
		cfg.Lease, cfg.Interval = time.Minute, 10*time.Second // no other cuts
	})
	proxy := newProxy(t, m.addr())
	type pair struct{ at, from link.Stream }
	var pairs []pair
	var here []*link.Session
	for range slaves {
		slave, session := m.pair(proxy.addr())
		at, from := streams(t, slave, session)
		pairs, here = append(pairs, pair{at, from}), append(here, session)
	}
	changed := make([]<-chan struct{}, slaves)
	for i, s := range here {
		_, _, changed[i] = s.Connected()
	}
	proxy.cut()
	for i, s := range here {
		<-changed[i]
		exchange(t, pairs[i].at, pairs[i].from, "before it is back, or after")
		if err := s.Err(); err != nil {
			t.Fatalf("session %d has ended: %v", i, err)
		}
	}
	if refused := m.log.with("connection was refused"); len(refused) > 0 {
		t.Errorf("%d connections were turned away, the first: %s", len(refused), refused[0])
	}
}

// TestIdleLinks has many links without traffic. Each costs a master four goroutines: two of yamux,
// that of its connection and that of its session. Neither end keeps a buffer when all its bytes are
// acknowledged.
func TestIdleLinks(t *testing.T) {
	const slaves, onMaster, onSlave = 20, 4, 5
	m := newMaster(t, func(cfg *link.ListenConfig) { cfg.Lease, cfg.Interval = time.Minute, time.Second })
	var links []*link.Session
	before := runtime.NumGoroutine()
	for range slaves {
		slave, here := m.dial(m.identity(), m.addr())
		links = append(links, slave, here)
		background(t, slave.Run)
		background(t, func(ctx context.Context) error {
			return here.Serve(ctx, func(st link.Stream) { _ = st.Close() })
		})
		if st, err := slave.Open(t.Context()); err != nil {
			t.Error(err)
		} else if _, err := st.Write([]byte{1}); err != nil {
			t.Error(err)
		} else if _, err := st.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want %v: the stream was closed at once", err, io.EOF)
		}
	}
	want := slaves*(onMaster+onSlave) + slaves/2 // some others
	for deadline := time.Now().Add(limit.Scaled(10 * time.Second)); runtime.NumGoroutine()-before > want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d links have %d goroutines, want %d", slaves, runtime.NumGoroutine()-before, want)
		}
	}
	for i := 0; i < len(links); time.Sleep(time.Millisecond) {
		if links[i].Kept() == 0 {
			i++
		}
	}
}

package link_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire"
	"bproc/wire/link"
)

// master is the master's end of a cluster in a test.
type master struct {
	testing.TB
	authority *link.Authority
	listener  *link.Listener
	log       *logLines
	sessions  chan *link.Session
	peers     chan link.Peer
	stop      func()
}

const (
	testLease    = 5 * time.Second
	testInterval = 50 * time.Millisecond
)

// newMaster starts a listener. change may alter its configuration.
func newMaster(t testing.TB, change func(*link.ListenConfig)) *master {
	t.Helper()
	return newMasterOf(t, new(state).open(t), change)
}

// state is what outlives a master.
type state struct{ secrets, tokens table }

func (s *state) open(t testing.TB) *link.Authority {
	t.Helper()
	a, err := link.OpenAuthority(&s.secrets, &s.tokens)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// table is a table in memory.
type table struct {
	mu      sync.Mutex
	records map[string][]byte
	err     error // returned by every change
}

func (t *table) All() (map[string][]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.records), nil
}

func (t *table) Change(records map[string][]byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	if t.records == nil {
		t.records = map[string][]byte{}
	}
	maps.Copy(t.records, records)
	maps.DeleteFunc(t.records, func(_ string, record []byte) bool { return record == nil })
	return nil
}

// fail makes every change fail, or none.
func (t *table) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

func newMasterOf(t testing.TB, a *link.Authority, change func(*link.ListenConfig)) *master {
	t.Helper()
	m := &master{TB: t, authority: a, log: &logLines{}, sessions: make(chan *link.Session, 100), peers: make(chan link.Peer, 100)}
	cfg := link.ListenConfig{
		Addr:      "127.0.0.1:0",
		Authority: a,
		Lease:     testLease,
		Interval:  testInterval,
		Log:       slog.New(slog.NewTextHandler(m.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
		Joined:    func(j link.Joining) (wire.NodeID, wire.Block, error) { return j.Node, home, nil },
		Accept: func(p link.Peer, s *link.Session) {
			m.peers <- p
			m.sessions <- s
		},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if m.listener, err = link.Listen(cfg); err != nil {
		t.Fatal(err)
	}
	m.stop = background(t, m.listener.Run)
	return m
}

// background runs f until the returned function is called, or the test ends.
func background(t testing.TB, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f(ctx)
	}()
	stop = func() {
		cancel()
		select {
		case <-done:
		case <-time.After(limit.Scaled(10 * time.Second)):
			t.Error("a component did not end")
		}
	}
	t.Cleanup(stop)
	return stop
}

func (m *master) addr() string { return m.listener.Addr().String() }

// identity joins a new slave.
func (m *master) identity() *link.Identity {
	m.Helper()
	token, _, err := m.authority.NewToken(link.Terms{Node: 1, Life: time.Minute})
	if err != nil {
		m.Fatal(err)
	}
	id, err := link.Join(m.Context(), m.addr(), token, filepath.Join(m.TempDir(), "identity"), "n1")
	if err != nil {
		m.Fatal(err)
	}
	return id
}

// dial connects a slave through addr and returns both ends. Neither runs yet.
func (m *master) dial(id *link.Identity, addr string) (slave, here *link.Session) {
	m.Helper()
	slave, err := link.Dial(m.Context(), dialConfig(id, addr))
	if err != nil {
		m.Fatal(err)
	}
	return slave, m.session()
}

// pair connects a slave and runs both ends.
func (m *master) pair(addr string) (slave, here *link.Session) {
	m.Helper()
	slave, here = m.dial(m.identity(), addr)
	background(m, slave.Run)
	background(m, here.Run)
	return slave, here
}

func (m *master) session() *link.Session {
	m.Helper()
	select {
	case s := <-m.sessions:
		return s
	case <-time.After(limit.Scaled(10 * time.Second)):
		m.Fatal("no session came")
		return nil
	}
}

func dialConfig(id *link.Identity, addr string) link.DialConfig {
	return link.DialConfig{
		Addr:     addr,
		Identity: id,
		Hello:    wire.Hello{Arch: "amd64", BootID: "b1", Host: "n1"},
		Log:      slog.New(slog.DiscardHandler),
	}
}

// streams opens a stream from the master and returns both ends.
func streams(t testing.TB, slave, here *link.Session) (at, from link.Stream) {
	t.Helper()
	return opened(t, here, slave)
}

// opened opens a stream, with a first byte that the other end learns of it by.
func opened(t testing.TB, near, far *link.Session) (accepted, own link.Stream) {
	t.Helper()
	own, err := near.Open(t.Context())
	if err == nil {
		_, err = own.Write([]byte{0})
	}
	if err == nil {
		accepted, err = far.Accept(t.Context())
	}
	if err == nil {
		_, err = accepted.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return accepted, own
}

// exchange sends text one way and checks that it arrives.
func exchange(t testing.TB, to io.Writer, from io.Reader, text string) {
	t.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(from, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v, want %q", got, err, text)
	}
}

// ended waits until the session has ended, and returns why.
func ended(t testing.TB, s *link.Session) error {
	t.Helper()
	select {
	case <-s.Done():
		return s.Err()
	case <-time.After(limit.Scaled(10 * time.Second)):
		t.Fatal("the session did not end")
		return nil
	}
}

func refusal(err error) string {
	if r := (*link.RefusedError)(nil); errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

// logLines collects log lines.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.TrimSpace(string(p)))
	return len(p), nil
}

func (l *logLines) with(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// wait polls until there are lines with the text.
func (l *logLines) wait(t testing.TB, text string) []string {
	t.Helper()
	for deadline := time.Now().Add(limit.Scaled(10 * time.Second)); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if found := l.with(text); len(found) > 0 {
			return found
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Fatalf("no log line with %q among\n%s", text, strings.Join(l.lines, "\n"))
	return nil
}

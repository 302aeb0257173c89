package link_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy forwards connections to a master, and cuts and stalls them.
type proxy struct {
	ln net.Listener

	mu     sync.Mutex
	target string
	next   func() fate // of each connection
	conns  map[net.Conn]bool
	shut   bool // new connections are closed at once
	count  int  // connections so far
}

// fate says when a connection ends, and how.
type fate struct {
	after int  // bytes, both ways together; 0: never
	stall bool // the connection does not end then, but nothing more is forwarded
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{ln: ln, target: target, next: func() fate { return fate{} }, conns: map[net.Conn]bool{}}
	background(t, p.run)
	return p
}

func (p *proxy) addr() string { return p.ln.Addr().String() }

func (p *proxy) run(ctx context.Context) error {
	var wg sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { _ = p.ln.Close(); p.cut() })
	defer stop()
	for {
		near, err := p.ln.Accept()
		if err != nil {
			p.cut()
			wg.Wait()
			return err
		}
		wg.Go(func() { p.forward(near) })
	}
}

func (p *proxy) forward(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.to())
	if err != nil {
		return
	}
	defer far.Close()
	f, ok := p.enter(near, far)
	if !ok {
		return
	}
	defer p.leave(near, far)
	budget := &budget{left: f.after, limited: f.after > 0, stall: f.stall}
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		wg.Go(func() {
			if err := budget.copy(way[1], way[0]); errors.Is(err, errStalled) {
				return // until one end gives up
			}
			_, _ = near.Close(), far.Close()
		})
	}
	wg.Wait()
	if f.stall {
		_, _ = near.Read(make([]byte, 1)) // the slave gives up, or cut does it
	}
}

var errStalled = errors.New("stalled")

// budget is how many bytes may still pass.
type budget struct {
	mu      sync.Mutex
	left    int
	limited bool
	stall   bool
}

func (b *budget) copy(to io.Writer, from io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		allowed, end := b.take(n)
		if _, err := to.Write(buf[:allowed]); err != nil {
			return err
		}
		if end != nil {
			return end
		}
		if err != nil {
			return err
		}
	}
}

func (b *budget) take(n int) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.limited || n < b.left {
		b.left -= n
		return n, nil
	}
	n, b.left = b.left, 0
	if b.stall {
		return n, errStalled
	}
	return n, io.EOF
}

func (p *proxy) enter(conns ...net.Conn) (fate, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return fate{}, false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	p.count++
	return p.next(), true
}

func (p *proxy) leave(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// each sets the fate of connections from now on.
func (p *proxy) each(next func() fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = next
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) to() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}

// retarget forwards new connections to another address.
func (p *proxy) retarget(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// open sets whether new connections are forwarded.
func (p *proxy) open(yes bool) {
	p.mu.Lock()
	p.shut = !yes
	p.mu.Unlock()
	if !yes {
		p.cut()
	}
}

func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// awaitConnected waits until the session is, or is not, connected.
func awaitConnected(t testing.TB, s interface {
	Connected() (bool, time.Time, <-chan struct{})
}, want bool,
) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		up, _, changed := s.Connected()
		if up == want {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("connected is %v, want %v", up, want)
		}
	}
}

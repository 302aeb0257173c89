package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// listener accepts connections of other agents.
type listener struct {
	*net.TCPListener
	config *tls.Config
	self   int
	count  atomic.Int32 // handshakes under way
	group  sync.WaitGroup

	mu    sync.Mutex
	links map[int]*link // accepted, but not taken yet
}

// listen listens at an address of this machine. If the machine does not have the address, by which
// the front end knows it, listen uses all addresses.
func listen(config *tls.Config, self int, address string) (*listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if errors.Is(err, unix.EADDRNOTAVAIL) {
		l, err = net.Listen("tcp", ":0")
	}
	if err != nil {
		return nil, err
	}
	return &listener{TCPListener: l.(*net.TCPListener), config: config, self: self, links: map[int]*link{}}, nil
}

func (l *listener) port() int { return l.Addr().(*net.TCPAddr).Port }

// run accepts connections until the listener is closed.
func (l *listener) run(ctx context.Context) {
	for {
		conn, err := l.AcceptTCP()
		if err != nil {
			return
		}
		if l.count.Add(1) > handshakes {
			l.count.Add(-1)
			conn.Close()
			continue
		}
		l.group.Go(func() {
			defer l.count.Add(-1)
			l.accept(ctx, newLink(conn))
		})
	}
}

func (l *listener) accept(ctx context.Context, link *link) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	from, err := link.receive(ctx, l.config, l.self)
	if err != nil || !l.keep(from, link) {
		link.abort()
	}
}

// keep keeps the first connection of an agent, and confirms it. Only one connection may be used, so whoever takes
// it waits for the confirmation.
func (l *listener) keep(from int, link *link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.links[from] != nil {
		return false
	}
	l.links[from] = link
	_ = link.answer() // the other end notices
	return true
}

// stop stops accepting. Accepted connections stay.
func (l *listener) stop() {
	l.Close()
	l.group.Wait()
}

// take returns the connection of an agent.
func (l *listener) take(from int) (*link, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	link := l.links[from]
	if link == nil {
		return nil, fmt.Errorf("agent %d has not connected", from)
	}
	delete(l.links, from)
	return link, nil
}

// abortAll aborts the connections that were not taken.
func (l *listener) abortAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, link := range l.links {
		link.abort()
	}
	clear(l.links)
}

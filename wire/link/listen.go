package link

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/internal/crowd"
	"bproc/wire"
)

// maxOpening bounds the connections that prove who they are at the same time, and maxWaiting those
// that wait for that, where ListenConfig does not. One that takes longer than openingPatience is
// given up for one that waits.
const (
	maxOpening      = 128
	maxWaiting      = 4096
	openingPatience = openingTime / 2
)

// Peer is who is at the other end of a new session, in its own words but for
// Key and Addr.
type Peer struct {
	Key     string // in the certificate
	Host    string
	Arch    string
	BootID  string
	Addr    string // of the first connection
	Here    string // the address of this side of it
	Version uint16 // of the protocol, that both speak

	Certificate Validity // of the one on the first connection
}

// Joining is a machine with a new identity.
type Joining struct {
	Key   string // its identity
	Host  string // what it calls itself
	Addr  string // from which it comes, without port
	Node  wire.NodeID
	Name  string        // these two are of the token's [Terms]
	Again []wire.NodeID // it may only be one of these, that has an identity; nil: any
}

// ErrNotAgain is the error for a machine whose token is only good for nodes that have joined with it.
var ErrNotAgain = errors.New("the token was used by as many machines as it is for")

// ListenConfig is the configuration of a Listener.
type ListenConfig struct {
	Addr      string
	Authority *Authority
	Lease     time.Duration // what slaves are told: without word for so long, they kill everything
	Interval  time.Duration // between signs of life; 0: a tenth of the lease, within bounds
	Opening   int           // how many connections may prove who they are at a time; 0: 128
	Waiting   int           // how many may wait for that; 0: 4096
	Release   string        // version of this program, for [Inquire]
	Log       *slog.Logger

	// Joined is told of a new identity before the slave gets its certificate.
	// An error is shown to the slave, and its token stays good; ErrNotAgain is for one that
	// would be another node than one of Again.
	Joined func(Joining) (node wire.NodeID, home wire.Block, err error)

	// Admit decides whether a slave whose certificate is good may connect. A
	// *RefusedError is shown to the slave; another error means that nobody knows now. It is
	// asked at each connection.
	Admit func(Peer) error

	// Bypass returns the function of the client that waits for a bypass with a token, of the slave with a key; nil:
	// none does. It is called once, with the end that is to be the client's, and must not block.
	Bypass func(key string, token []byte) (give func(BypassEnd))

	// Accept is given each new session, not those that are resumed. It must
	// not block; the session is to be run, or closed. A slave has one session:
	// with a new one, it has given up the older ones of the same key.
	Accept func(Peer, *Session)
}

// Listener is the master's end of all links.
type Listener struct {
	cfg  ListenConfig
	ln   net.Listener
	tls  *tls.Config
	pace pace
	line *crowd.Line[string] // of connections that have proved nothing yet, by address

	carried sync.WaitGroup // connections of links

	mu       sync.Mutex
	sessions map[string]*Session // by name of the link
}

// Listen binds the address. Run serves it.
func Listen(cfg ListenConfig) (*Listener, error) {
	if cfg.Lease < time.Millisecond {
		return nil, fmt.Errorf("listen: lease of %v", cfg.Lease)
	}
	if cfg.Interval == 0 {
		cfg.Interval = min(max(cfg.Lease/10, 200*time.Millisecond), 3*time.Second)
	}
	cfg.Opening, cfg.Waiting = cmp.Or(cfg.Opening, maxOpening), cmp.Or(cfg.Waiting, maxWaiting)
	ln, err := net.Listen("tcp", cfg.Addr)
	if errors.Is(err, unix.EADDRNOTAVAIL) {
		cfg.Log.Warn("this machine does not have the address yet on which slaves are to find it", "addr", cfg.Addr)
		ln, err = listenAhead(cfg.Addr)
	}
	if err != nil {
		return nil, err
	}
	return &Listener{
		cfg:      cfg,
		ln:       ln,
		tls:      cfg.Authority.serverConfig(),
		pace:     newPace(cfg.Lease, cfg.Interval),
		line:     crowd.NewLine[string](cfg.Opening, cfg.Waiting, openingPatience),
		sessions: map[string]*Session{},
	}, nil
}

// Addr returns the address that is listened on.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// Run serves connections until ctx ends. Then the connections end, too;
// sessions do not, nor do they get another connection.
func (l *Listener) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() { _ = l.ln.Close() })
	defer stop()
	g.Go(func() error { l.watch(ctx); return nil })
	g.Go(func() error {
		defer l.line.Close() // nobody is served any more
		for {
			c, err := l.ln.Accept()
			switch {
			case err == nil:
				l.enter(ctx, g, &batch{TCPConn: c.(*net.TCPConn)})
				continue
			case ctx.Err() != nil:
				return context.Cause(ctx)
			}
			// Out of descriptors, most likely: accept(2).
			l.cfg.Log.Error("cannot accept connections", "err", err)
			if err := pause(ctx, time.Second); err != nil {
				return err
			}
		}
	})
	err := g.Wait()
	l.carried.Wait()
	return err
}

// enter has a connection served when it is its turn. A slave that has not waited for so long will
// come again.
func (l *Listener) enter(ctx context.Context, g *errgroup.Group, raw *batch) {
	came := time.Now()
	l.line.Enter(host(raw.TCPConn), func(leave func()) {
		g.Go(func() error {
			defer leave()
			if time.Since(came) > dialTime && raw.hungUp() {
				raw.abort()
				return nil
			}
			if c := l.serve(ctx, raw, leave); c != nil {
				l.carry(ctx, c)
			}
			return nil
		})
	}, raw.abort)
}

// serve opens a connection and returns it when it is one of a link, which it is to carry.
// proved is to be called when the other end has said who it is.
func (l *Listener) serve(ctx context.Context, raw *batch, proved func()) *conn {
	log := l.cfg.Log.With("addr", raw.RemoteAddr().String())
	stop := context.AfterFunc(ctx, raw.abort)
	defer stop()

	c, err := l.open(ctx, raw, log)
	switch {
	case errors.Is(err, errHandedOver):
	case err != nil && ctx.Err() == nil:
		level := slog.LevelWarn
		if refused := (*RefusedError)(nil); errors.As(err, &refused) && refused.Later {
			level = slog.LevelDebug // it asks again and again
		}
		log.Log(ctx, level, "connection was refused", "err", err)
	case err == nil && c != nil:
		proved()
		return c
	}
	_ = raw.Close()
	return nil
}

// carry has a link carried by its connection until that is lost or ctx ends. No goroutine waits
// for this.
func (l *Listener) carry(ctx context.Context, c *conn) {
	l.carried.Add(1)
	stop := context.AfterFunc(ctx, func() { c.fail(context.Cause(ctx)) })
	c.begin(func() {
		defer l.carried.Done()
		defer c.raw.Close()
		stop()
		if err := c.ended(); ctx.Err() == nil {
			l.cfg.Log.Info("connection has ended", "addr", c.raw.RemoteAddr().String(), "err", err)
		}
	})
}

// watch gives up connections over which nothing was heard for too long, each when its time is over.
func (l *Listener) watch(ctx context.Context) {
	for wait := l.pace.silence; pause(ctx, wait) == nil; {
		wait = l.pace.silence
		now := time.Now()
		for _, s := range l.all() {
			wait = min(wait, s.link.check(now))
		}
	}
}

func (l *Listener) all() []*Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.sessions))
}

// host is where a connection comes from.
func host(tcp *net.TCPConn) string {
	addr, ok := tcp.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	return addr.IP.String()
}

// open does the opening. The connection is nil when there is nothing to carry.
func (l *Listener) open(ctx context.Context, raw *batch, log *slog.Logger) (*conn, error) {
	if err := raw.SetDeadline(time.Now().Add(openingTime)); err != nil {
		return nil, err
	}
	t := tls.Server(raw, l.tls)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	var c *conn
	var err error
	switch proto := t.ConnectionState().NegotiatedProtocol; proto {
	case protoJoin:
		err = l.join(t, log)
	case protoAbout:
		err = l.about(t)
	case protoBypass:
		err = l.bypass(t, raw)
	case protoLink:
		c, err = l.link(opened{t, raw}, log)
	default:
		err = fmt.Errorf("%w: application protocol %q", ErrProtocol, proto)
	}
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		err = errors.Join(err, wire.Write(t, 0, &wire.Refused{Reason: refused.Reason, Later: refused.Later, Rejoin: refused.Rejoin}))
	}
	if c == nil && !errors.Is(err, errHandedOver) {
		part(raw)
	}
	return c, err
}

// part ends a connection so that the other side can read what was written: it
// is the one to close.
func part(raw *batch) {
	_ = raw.SetDeadline(time.Now().Add(farewellTime))
	if raw.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, raw, wire.MaxOpening)
	}
}

// link serves a connection of a slave that has proved itself.
func (l *Listener) link(o opened, log *slog.Logger) (*conn, error) {
	hello, err := readOpening[*wire.Hello](o.Conn)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(hello.Version); err != nil {
		return nil, err
	}
	if !plainText(hello.Host) || !plainText(hello.Arch) || !plainText(hello.BootID) {
		return nil, &RefusedError{Reason: "a name has characters that it cannot have"}
	}
	p := Peer{
		Key:     o.ConnectionState().PeerCertificates[0].Subject.CommonName,
		Host:    hello.Host,
		Arch:    hello.Arch,
		BootID:  hello.BootID,
		Addr:    o.raw.RemoteAddr().String(),
		Here:    o.raw.LocalAddr().String(),
		Version: min(hello.Version, wire.Version),

		Certificate: validityOf(o.ConnectionState().PeerCertificates[0]),
	}
	log = log.With("host", p.Host, "key", p.Key)
	if err := l.admit(p); err != nil {
		return nil, fmt.Errorf("slave %s with the identity %s: %w", p.Host, p.Key, err)
	}
	if hello.Link == "" {
		return l.start(o, p, log)
	}
	return l.resume(o, p, hello, log)
}

// admit returns why a slave whose certificate is of our authority may not connect.
// One that is to come later does not hear that its certificate has expired: it would give up.
func (l *Listener) admit(p Peer) error {
	var err error
	if l.cfg.Admit != nil {
		err = l.cfg.Admit(p)
	}
	if refused := (*RefusedError)(nil); errors.As(err, &refused) && refused.Later {
		return err
	}
	if expired := p.Certificate.check(time.Now()); expired != nil {
		return &RefusedError{Reason: expired.Error(), Rejoin: true}
	}
	return err
}

// start makes a new session.
func (l *Listener) start(o opened, p Peer, log *slog.Logger) (*conn, error) {
	name := newID()
	s := newSession(newLink(name, l.pace, func() { l.forget(name) }), l.cfg.Log)
	s.link.answers = true
	s.peer = p
	s.certificate.Store(&p.Certificate)
	s.opening.Lock()
	defer s.opening.Unlock()
	l.mu.Lock()
	l.sessions[name] = s
	l.mu.Unlock()

	c := newConn(s.link, o.Conn, o.raw)
	err := l.welcome(c, &wire.Welcome{Version: p.Version, Link: name}, 0)
	if err != nil {
		s.Close(err)
		return nil, err
	}
	log.Info("link is up")
	l.cfg.Accept(p, s)
	return c, nil
}

// resume goes on with a session over a new connection.
func (l *Listener) resume(o opened, p Peer, hello *wire.Hello, log *slog.Logger) (*conn, error) {
	l.mu.Lock()
	s := l.sessions[hello.Link]
	l.mu.Unlock()
	if s == nil || s.peer.Key != p.Key {
		log.Info("link is not known any more")
		return nil, wire.Write(o, 0, &wire.Welcome{Version: p.Version})
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	// A connection that was given up on the way may come late. It is out of
	// date then, which harms only itself.
	if err := s.link.resumable(hello.Received); err != nil {
		return nil, err
	}
	received := s.link.detach()
	c := newConn(s.link, o.Conn, o.raw)
	w := &wire.Welcome{Version: p.Version, Link: hello.Link, Resumed: true, Received: received}
	if err := l.welcome(c, w, hello.Received); err != nil {
		return nil, err
	}
	s.certificate.Store(&p.Certificate)
	log.Info("link is up again", "received", received)
	return c, nil
}

// welcome sends the Welcome and attaches the connection.
func (l *Listener) welcome(c *conn, w *wire.Welcome, peer uint64) error {
	w.Lease = milliseconds(l.pace.lease)
	w.Interval = milliseconds(l.pace.interval)
	if err := wire.Write(c.tls, 0, w); err != nil {
		return err
	}
	if err := c.raw.SetDeadline(time.Time{}); err != nil {
		return err
	}
	return c.link.attach(c, peer)
}

func (l *Listener) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, name)
}

func milliseconds(d time.Duration) uint32 {
	return uint32(min(d.Milliseconds(), 1<<32-1))
}

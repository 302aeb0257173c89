package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"bproc/wire"
)

const (
	firstDelay = 20 * time.Millisecond // before the second attempt; the first is made at once
	lastDelay  = 500 * time.Millisecond

	maxInterval = time.Minute // a master that asks for less frequent signs of life is in error
)

// DialConfig is the configuration of a slave's session.
type DialConfig struct {
	Addr     string // of the master
	Identity *Identity
	Hello    wire.Hello // Arch, BootID and Host; the rest is filled in
	Log      *slog.Logger
	Limit    time.Duration // how long the opening of a new session may take; 0: 10 s
}

// Dial connects to the master and starts a new session, which the caller has to run or close. If the master
// refuses, the error is a *RefusedError. If it is not the master of the identity, the error is ErrOtherMaster.
func Dial(ctx context.Context, cfg DialConfig) (*Session, error) {
	d := &dialer{cfg: cfg, tls: cfg.Identity.clientConfig()}
	if cfg.Limit == 0 {
		cfg.Limit = openingTime
	}
	o, w, err := d.open(ctx, "", 0, cfg.Limit)
	if err != nil {
		return nil, fmt.Errorf("connect to the master at %s: %w", cfg.Addr, err)
	}
	p, err := paceOf(w)
	if err != nil {
		o.raw.abort()
		return nil, fmt.Errorf("connect to the master at %s: %w", cfg.Addr, err)
	}
	l := newLink(w.Link, p, func() {})
	c := newConn(l, o.Conn, o.raw)
	if err := l.attach(c, w.Received); err != nil {
		o.raw.abort()
		return nil, fmt.Errorf("connect to the master at %s: %w", cfg.Addr, err)
	}
	s := newSession(l, cfg.Log)
	s.carry = func(ctx context.Context) error { return d.carry(ctx, c) }
	return s, nil
}

// noLink is the name of no link: names are random.
const noLink = "none"

// Check asks the master whether it accepts the identity. If not, the error is a *RefusedError, or
// ErrOtherMaster.
func Check(ctx context.Context, cfg DialConfig) error {
	d := &dialer{cfg: cfg, tls: cfg.Identity.clientConfig()}
	o, _, err := d.open(ctx, noLink, 0, openingTime) // to go on with it is harmless
	if err != nil {
		return fmt.Errorf("connect to the master at %s: %w", cfg.Addr, err)
	}
	o.raw.abort()
	return nil
}

func paceOf(w *wire.Welcome) (pace, error) {
	lease, interval := time.Duration(w.Lease)*time.Millisecond, time.Duration(w.Interval)*time.Millisecond
	if w.Link == "" || lease <= 0 || interval <= 0 || interval > maxInterval {
		return pace{}, fmt.Errorf("%w: link %q with lease %v and interval %v", ErrProtocol, w.Link, lease, interval)
	}
	return newPace(lease, interval), nil
}

// dialer makes the connections of one session of a slave.
type dialer struct {
	cfg DialConfig
	tls *tls.Config
}

// carry carries the link over c, and over new connections when one is lost,
// until the link is closed or cannot be resumed.
func (d *dialer) carry(ctx context.Context, c *conn) error {
	l := c.link
	for {
		// A closed link takes leave over its connection before that ends.
		lost := d.run(context.WithoutCancel(ctx), c)
		select {
		case <-l.done:
			return l.reason()
		default:
		}
		level := slog.LevelWarn
		if errors.Is(lost, errRenewed) {
			level = slog.LevelInfo
		}
		d.cfg.Log.Log(ctx, level, "connection to the master is lost", "err", lost)
		var err error
		if c, err = d.resume(ctx, l); err != nil {
			l.close(err, false)
			return err
		}
		d.cfg.Log.Info("connection to the master is up again")
	}
}

// run carries the link over c, and gives signs of life.
func (d *dialer) run(ctx context.Context, c *conn) error {
	var watching sync.WaitGroup
	watching.Go(c.watch)
	err := c.run(ctx)
	watching.Wait()
	return err
}

// resume tries until there is a connection, or none can be.
func (d *dialer) resume(ctx context.Context, l *link) (*conn, error) {
	delay := time.Duration(0)
	for {
		// Many slaves lose their connections at the same moment.
		if err := pause(ctx, delay/2+rand.N(delay/2+1)); err != nil {
			return nil, err
		}
		c, err := d.attempt(ctx, l)
		refused := (*RefusedError)(nil)
		switch {
		case err == nil:
			return c, nil
		case errors.As(err, &refused), errors.Is(err, ErrNotResumed), errors.Is(err, ErrProtocol):
			return nil, err
		}
		delay = min(max(2*delay, firstDelay), longest(err, l.pace.lease))
		d.cfg.Log.Debug("no connection to the master", "err", err)
	}
}

// busyPart is which part of the lease a slave waits at most for a master that is there and has too
// many others to deal with. They have come at the same moment, and fewer attempts at a time
// are more that succeed.
const busyPart = 10

// longest returns the longest wait before the next attempt.
func longest(err error, lease time.Duration) time.Duration {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return lastDelay // nobody is there
	}
	return max(lastDelay, lease/busyPart)
}

func (d *dialer) attempt(ctx context.Context, l *link) (*conn, error) {
	received := l.detach()
	o, w, err := d.open(ctx, l.name, received, max(dialTime, l.pace.silence))
	if err != nil {
		return nil, err
	}
	if !w.Resumed || w.Link != l.name {
		o.raw.abort()
		return nil, ErrNotResumed
	}
	c := newConn(l, o.Conn, o.raw)
	if err := l.attach(c, w.Received); err != nil {
		o.raw.abort()
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return c, nil
}

// open connects and says hello.
func (d *dialer) open(ctx context.Context, link string, received uint64, limit time.Duration) (opened, *wire.Welcome, error) {
	hello := d.cfg.Hello
	hello.Version, hello.Link, hello.Received = wire.Version, link, received
	var w *wire.Welcome
	o, err := ask(ctx, d.cfg.Addr, d.tls, limit, &hello, &w)
	if err != nil {
		return opened{}, nil, otherMaster(err)
	}
	if w.Version < wire.MinVersion || w.Version > wire.Version {
		o.raw.abort()
		return opened{}, nil, &RefusedError{Reason: fmt.Sprintf("it speaks protocol version %d", w.Version)}
	}
	return o, w, nil
}

// pause waits, or returns why it was not to wait any longer.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

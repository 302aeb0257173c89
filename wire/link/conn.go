package link

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	ackEvery  = 256 << 10 // bytes received before they are acknowledged ahead of the next interval
	tlsRecord = 16 << 10  // plain bytes in a record of TLS
	burst     = 4         // chunks that are encrypted before they are given to the kernel

	// keyLimit bounds the bytes that are encrypted with one key. RFC 8446,
	// section 5.5, allows 2^24.5 full records with AES-GCM. The link goes on
	// over a new connection.
	keyLimit = 1 << 38
)

// Why a connection was given up.
var (
	errReplaced = errors.New("connection was replaced")
	errSilent   = errors.New("nothing heard for too long")
	errKeyUsed  = errors.New("enough bytes for one key")
	errRenewed  = errors.New("the certificate was renewed")
)

// conn is one connection of a link.
type conn struct {
	link *link
	tls  *tls.Conn
	raw  *batch

	// Of the reader, under link.reading.
	left    int // bytes of the data record being read
	control [maxReason]byte

	// Of whoever has set link.writing.
	pieces  []piece
	scratch []byte
	written uint64

	// Under link.mu.
	err   error  // why it was given up
	sent  uint64 // offset after the last byte that is or was being written
	told  uint64 // bytes received that the other side knows of
	alive bool   // a sign of life is due
}

func newConn(l *link, t *tls.Conn, raw *batch) *conn {
	return &conn{link: l, tls: t, raw: raw, alive: true}
}

// run carries the link until the connection ends, and returns why it did.
func (c *conn) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() { c.fail(context.Cause(ctx)) })
	defer stop()
	g.Go(c.write)
	g.Go(func() error { return c.watch(ctx) })
	_ = g.Wait() // c.err is the first reason
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return c.err
}

// watch asks for signs of life and waits for those of the other side. It looks at once
// when their time is over, not at the next interval: how long a lost node is waited for
// depends on that.
func (c *conn) watch(ctx context.Context) error {
	for wait := c.link.pace.interval; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		var err error
		if wait, err = c.tick(time.Now()); err != nil {
			return err
		}
	}
}

// tick returns when to look again.
func (c *conn) tick(now time.Time) (time.Duration, error) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.pace.silence - now.Sub(l.heard)
	if left <= 0 {
		l.loseLocked(c, errSilent)
	}
	c.alive = true
	l.work.Signal()
	return min(l.pace.interval, left), c.err
}

// fail gives the connection up.
func (c *conn) fail(err error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.link.loseLocked(c, err)
}

// write sends what there is to be sent, until the connection ends.
func (c *conn) write() error {
	for {
		p, err := c.next()
		if err != nil {
			return err
		}
		err = c.send(p)
		if p.reason != nil && err == nil {
			c.part()
		}
		c.sentAll(p, err)
	}
}

// part lets the other side read the farewell: a close with bytes unread would
// be a reset, which may overtake it. The deadline was set when the link closed.
func (c *conn) part() {
	if err := c.raw.CloseWrite(); err != nil {
		return
	}
	c.link.reading.Lock()
	defer c.link.reading.Unlock()
	_, _ = io.Copy(io.Discard, c.raw) // until the other side closes, too
}

// parcel is what goes out at once.
type parcel struct {
	ack      bool
	received uint64
	pieces   []piece
	reason   error // the last: a farewell
}

// next waits until there is something to send.
func (c *conn) next() (parcel, error) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case c.err != nil:
			return parcel{}, c.err
		case l.writing: // Write does
		case l.err != nil && !l.farewell:
			l.loseLocked(c, l.err)
			return parcel{}, l.err
		case l.err != nil && c.sent == l.out.end:
			l.writing, l.pinned = true, c.sent
			return parcel{reason: l.err}, nil
		case c.alive || c.sent < l.out.end || l.received-c.told > ackEvery:
			return c.parcelLocked(), nil
		}
		l.work.Wait()
	}
}

func (c *conn) parcelLocked() parcel {
	l := c.link
	l.writing, l.pinned = true, c.sent
	c.pieces, c.sent = l.out.pieces(c.pieces[:0], c.sent, burst)
	p := parcel{ack: c.alive || l.received != c.told, received: l.received, pieces: c.pieces}
	c.alive, c.told = false, l.received
	return p
}

// sentAll notes that the parcel was written.
func (c *conn) sentAll(p parcel, err error) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	if err == nil {
		err = p.reason
	}
	if err != nil {
		l.loseLocked(c, err)
	}
	l.releaseLocked()
	l.space.Broadcast() // detach may wait
	l.work.Signal()
}

// send writes the parcel. Small parts are put together, so that few records of
// TLS are made; chunks that are full go out as they are.
func (c *conn) send(p parcel) error {
	c.raw.hold()
	err := c.encrypt(p)
	return errors.Join(err, c.raw.release())
}

func (c *conn) encrypt(p parcel) error {
	c.scratch = c.scratch[:0]
	if p.ack {
		c.scratch = appendAck(c.scratch, p.received)
	}
	for _, piece := range p.pieces {
		n := piece.to - piece.from
		if piece.whole() && n > tlsRecord/2 {
			if err := c.plain(); err != nil {
				return err
			}
			putRecord(piece.chunk[:], kindData, n)
			if err := c.encryptBytes(piece.chunk[:piece.to]); err != nil {
				return err
			}
			continue
		}
		c.scratch = appendRecord(c.scratch, kindData, n)
		with := min(n, max(tlsRecord-len(c.scratch), 0))
		c.scratch = append(c.scratch, piece.chunk[piece.from:piece.from+with]...)
		if with == n {
			continue
		}
		if err := c.plain(); err != nil {
			return err
		}
		if err := c.encryptBytes(piece.chunk[piece.from+with : piece.to]); err != nil {
			return err
		}
	}
	if p.reason != nil {
		c.scratch = appendClose(c.scratch, p.reason.Error())
	}
	return c.plain()
}

// plain writes what is in scratch.
func (c *conn) plain() error {
	b := c.scratch
	c.scratch = c.scratch[:0]
	return c.encryptBytes(b)
}

func (c *conn) encryptBytes(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if c.written += uint64(len(b)); c.written > c.link.keyLimit {
		return errKeyUsed
	}
	_, err := c.tls.Write(b)
	return err
}

// read reads bytes of the link, and deals with the records between them. It is
// called under link.reading.
func (c *conn) read(p []byte) (int, error) {
	for c.left == 0 {
		if err := c.readRecord(); err != nil {
			return 0, err
		}
	}
	n, err := c.tls.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

func (c *conn) readRecord() error {
	var head [recordHeader]byte
	if _, err := io.ReadFull(c.tls, head[:]); err != nil {
		return err
	}
	kind, length, err := parseRecord(head)
	if err != nil {
		return c.offend(err)
	}
	if kind == kindData {
		c.left = length
		return nil
	}
	payload := c.control[:length]
	if _, err := io.ReadFull(c.tls, payload); err != nil {
		return err
	}
	if kind == kindClose {
		err := &ClosedError{Reason: string(payload)}
		c.link.close(err, false)
		return err
	}
	return c.acknowledged(binary.LittleEndian.Uint64(payload))
}

func (c *conn) acknowledged(offset uint64) error {
	l := c.link
	l.mu.Lock()
	l.heard = time.Now()
	err := l.ackLocked(offset, c.sent)
	l.mu.Unlock()
	if err != nil {
		return c.offend(err)
	}
	return nil
}

// offend ends the whole link: the other side has proved who it is, so it does
// not speak this protocol, and would not do so over another connection.
func (c *conn) offend(err error) error {
	err = fmt.Errorf("%w: %w", ErrProtocol, err)
	c.link.close(err, true)
	return err
}

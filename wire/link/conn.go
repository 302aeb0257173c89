package link

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	ackEvery  = 1 << 20  // received bytes after which an acknowledgement is sent before the next interval
	tlsRecord = 16 << 10 // payload of a TLS record
	burst     = 4        // chunks that are encrypted before they are given to the kernel

	idleScratch = 1 << 10 // bytes that an idle connection keeps for its next record

	// keyLimit bounds the bytes that are encrypted with one key. RFC 8446, section 5.5, allows
	// 2^24.5 full records with AES-GCM. The link then goes on over a new connection.
	keyLimit = 1 << 38
)

// Reasons for giving a connection up.
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

	// Owned by the reader, which holds link.reading.
	left int // bytes of the data record being read

	// Owned by the goroutine that has set link.writing.
	pieces  []piece
	scratch []byte
	written uint64

	lost    chan struct{} // closed when err is set
	writers sync.WaitGroup

	// Under link.mu.
	err    error     // why it was given up
	sent   uint64    // offset after the last byte that is or was being written
	told   uint64    // bytes received that the other side knows of
	alive  bool      // a sign of life is due
	spoke  time.Time // when a sign of life was last answered
	runs   bool
	over   func() // called when it is lost; nil before begin
	writes bool   // a writer goroutine runs
}

func newConn(l *link, t *tls.Conn, raw *batch) *conn {
	return &conn{link: l, tls: t, raw: raw, alive: true, lost: make(chan struct{})}
}

// run carries the link until the connection ends, and returns the reason.
func (c *conn) run(ctx context.Context) error {
	c.begin(func() {})
	select {
	case <-c.lost:
	case <-ctx.Done():
		c.fail(context.Cause(ctx))
	}
	return c.ended()
}

// begin starts to carry the link. It makes a goroutine of its own call over when the connection is
// lost.
func (c *conn) begin(over func()) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.err != nil {
		go over()
		return
	}
	c.runs, c.over = true, over
	c.wakeLocked()
}

// ended waits until nothing writes to the connection, and returns why it was lost.
func (c *conn) ended() error {
	c.writers.Wait()
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return c.err
}

// watch gives signs of life at intervals, and checks for those of the other side. It checks exactly
// when their time is over, not at the next interval, because that determines how long a lost node
// is waited for.
func (c *conn) watch() {
	timer := time.NewTimer(c.link.pace.interval)
	defer timer.Stop()
	for {
		select {
		case <-c.lost:
			return
		case <-timer.C:
			timer.Reset(c.tick(time.Now()))
		}
	}
}

// tick returns the time until the next check.
func (c *conn) tick(now time.Time) time.Duration {
	l := c.link
	left := l.check(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	c.alive = true
	c.wakeLocked()
	return min(l.pace.interval, left)
}

// check gives the connection up if nothing was heard for too long, and closes the link if the other
// side speaks but does not take anything: what writes to it would wait for ever. It returns the time
// until the next check.
func (l *link) check(now time.Time) time.Duration {
	if l.takesNothing(now) {
		l.close(errNotTaken, false)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.pace.silence - now.Sub(l.heard)
	if l.cur == nil {
		return l.pace.silence
	}
	if left <= 0 {
		l.loseLocked(l.cur, errSilent)
		return l.pace.silence
	}
	return left
}

// errNotTaken means that the other side acknowledges nothing.
var errNotTaken = errors.New("the other side does not take what it is sent")

// takesNothing reports whether the other side has not acknowledged anything for the lease, over one
// connection, though it was sent something. It acknowledges what it has with each sign of life.
func (l *link) takesNothing(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acked != l.stuckAt || l.acked == l.out.end {
		l.stuckAt, l.stuck = l.acked, now
	}
	return l.cur != nil && l.err == nil && now.Sub(l.stuck) > l.pace.lease
}

// fail gives the connection up.
func (c *conn) fail(err error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.link.loseLocked(c, err)
}

// wakeLocked starts the writer if there is work for it.
func (c *conn) wakeLocked() {
	if c.runs && !c.writes && c.dueLocked() {
		c.writes = true
		c.writers.Go(c.write)
	}
}

// dueLocked reports whether something can be sent.
func (c *conn) dueLocked() bool {
	l := c.link
	switch {
	case c.err != nil, l.writing: // the present writer checks again
		return false
	case l.err != nil:
		return true
	}
	return c.alive || c.sent < l.out.end || l.received-c.told > ackEvery
}

// write sends everything that is due, and returns.
func (c *conn) write() {
	for {
		p, ok := c.next()
		if !ok {
			return
		}
		err := c.send(p)
		if p.reason != nil && err == nil {
			c.part()
		}
		c.sentAll(p, err)
	}
}

// answer answers a slave's sign of life, unless the slave has got an answer just now. The reader
// sends it itself, unless others write.
func (c *conn) answer() {
	if p, ok := c.answerParcel(); ok {
		c.sentAll(p, c.send(p))
	}
}

func (c *conn) answerParcel() (parcel, bool) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.answers || c.err != nil || l.err != nil || now.Sub(c.spoke) < l.pace.interval/2 {
		return parcel{}, false
	}
	c.alive, c.spoke = true, now
	if l.writing || c.sent < l.out.end {
		c.wakeLocked()
		return parcel{}, false
	}
	if cap(c.scratch) > idleScratch {
		c.scratch, c.pieces = nil, nil
	}
	return c.parcelLocked(), true
}

// part lets the other side read the farewell: closing with unread bytes would send a reset, which
// may overtake the farewell. The deadline was set when the link closed.
func (c *conn) part() {
	if err := c.raw.CloseWrite(); err != nil {
		return
	}
	c.link.reading.Lock()
	defer c.link.reading.Unlock()
	_, _ = io.Copy(io.Discard, c.raw) // until the other side closes, too
}

// parcel is sent in one step.
type parcel struct {
	ack      bool
	received uint64
	pieces   []piece
	reason   error // set in the last parcel: a farewell
}

// next returns what the writer must send; the writer ends if there is nothing.
func (c *conn) next() (_ parcel, ok bool) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !c.dueLocked():
	case l.err != nil && !l.farewell:
		l.loseLocked(c, l.err)
	case l.err != nil && c.sent == l.out.end:
		l.writing, l.pinned = true, c.sent
		return parcel{reason: l.err}, true
	default:
		return c.parcelLocked(), true
	}
	c.writes = false
	return parcel{}, false
}

func (c *conn) parcelLocked() parcel {
	l := c.link
	l.writing, l.pinned = true, c.sent
	c.pieces, c.sent = l.out.pieces(c.pieces[:0], c.sent, burst)
	p := parcel{ack: c.alive || l.received != c.told, received: l.received, pieces: c.pieces}
	c.alive, c.told = false, l.received
	return p
}

// sentAll records that the parcel was written.
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
	l.space.Broadcast() // detach may be waiting
	c.wakeLocked()
}

// send writes the parcel. It combines small parts, so that they make few TLS records, and sends
// full chunks as they are.
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
			putRecord(piece.chunk, kindData, n)
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

// plain writes the bytes in scratch.
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

// read reads bytes of the link, and handles the records between them. The caller holds
// link.reading.
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
	payload := make([]byte, length)
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
	c.answer()
	return nil
}

// offend ends the whole link: the other side is authenticated, so it does not speak this protocol,
// and would not do so over another connection.
func (c *conn) offend(err error) error {
	err = fmt.Errorf("%w: %w", ErrProtocol, err)
	c.link.close(err, true)
	return err
}

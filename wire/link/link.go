package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// sendBuffer bounds the bytes of a link that are kept until the other side has acknowledged them.
const sendBuffer = 8 << 20

// farewellTime bounds how long a closed link waits until its last bytes are sent.
const farewellTime = time.Second

// errOffset means an offset that the link has never had.
var errOffset = errors.New("offset is not in the link")

// link is a stream of bytes each way that outlives the connections that carry it. It is the
// io.ReadWriteCloser that yamux runs on: one goroutine reads, one writes.
type link struct {
	name  string // given by the master; valid only with the certificate of the same slave
	pace  pace
	ended func() // called once, when the link is closed

	keyLimit uint64 // bytes that a connection may send

	// reading is held while bytes of the link may be on the way from a connection to the reader. It
	// is taken before mu.
	reading sync.Mutex
	frames  frameCheck // of the bytes that are read, one connection after the other

	mu       sync.Mutex
	space    sync.Cond // Write waits for room, detach for the end of a write
	arrived  sync.Cond // Read waits for a connection
	out      queue
	heads    frameHeads
	delayed  bool      // sendLate is going to run
	acked    uint64    // bytes that the other side has received
	stuckAt  uint64    // acked at the last check
	stuck    time.Time // when acked was another, or nothing was to be acknowledged, or a connection began
	writing  bool      // a goroutine writes bytes of the queue to a connection
	pinned   uint64    // offset of the first of them
	received uint64    // bytes that the local reader was given
	heard    time.Time
	since    time.Time     // when cur last became nil or non-nil
	changed  chan struct{} // closed when cur becomes nil or non-nil
	moved    func()        // called then; may be nil
	cur      *conn         // nil while there is no connection
	err      error         // why the link was closed
	farewell bool          // tell the other side why
	answers  bool          // signs of life are answered instead of sent at intervals; on the master
	done     chan struct{} // closed when err is set
	stop     func()        // called then; may be nil
}

// pace has the intervals and time limits of a link.
type pace struct {
	lease    time.Duration
	interval time.Duration // after it a sign of life is sent
	silence  time.Duration // after it the connection is given up
}

func newPace(lease, interval time.Duration) pace {
	return pace{lease, interval, 3 * interval}
}

func newLink(name string, p pace, ended func()) *link {
	now := time.Now()
	l := &link{
		name:     name,
		pace:     p,
		ended:    ended,
		keyLimit: keyLimit,
		heard:    now,
		since:    now,
		stuck:    now,
		changed:  make(chan struct{}),
		done:     make(chan struct{}),
	}
	l.space.L, l.arrived.L = &l.mu, &l.mu
	return l
}

// Write implements [io.Writer]. It waits while the other side is behind by the whole send buffer,
// but not for a connection. It sends a small amount at once, and leaves a large one to the writer
// of the connection, which then works while yamux copies the next.
func (l *link) Write(p []byte) (int, error) {
	c, parcel, err := l.take(p)
	if err != nil {
		return 0, err
	}
	if c != nil {
		c.sentAll(parcel, c.send(parcel))
	}
	return len(p), nil
}

// take adds p to the queue. If the caller is to send the queue, it returns the parcel and the
// connection.
func (l *link) take(p []byte) (*conn, parcel, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.err == nil && l.out.end-l.acked > sendBuffer {
		l.space.Wait()
	}
	if l.err != nil {
		return nil, parcel{}, l.err
	}
	l.out.add(p)
	urgency := l.heads.urgencyOf(p)
	c := l.cur
	switch {
	case urgency == late:
		l.delayLocked()
		return nil, parcel{}, nil
	case urgency == withNext || c == nil:
		return nil, parcel{}, nil
	case l.writing || l.out.end-c.sent > tlsRecord:
		c.wakeLocked()
		return nil, parcel{}, nil
	}
	return c, c.parcelLocked(), nil
}

// lateTime is the longest delay of a late write. Most commands take less, so that the end of one goes with
// the next one.
const lateTime = 20 * time.Millisecond

// delayLocked has what was written sent within lateTime. It makes no timer if there is one, and stops
// none: both may wake a thread.
func (l *link) delayLocked() {
	if !l.delayed {
		l.delayed = true
		time.AfterFunc(lateTime, l.sendLate)
	}
}

func (l *link) sendLate() {
	l.mu.Lock()
	l.delayed = false
	l.mu.Unlock()
	l.sendNow()
}

// sendNow sends what is late.
func (l *link) sendNow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cur != nil {
		l.cur.wakeLocked()
	}
}

// awaitRoom waits until Write would not wait: until the other side has acknowledged enough.
func (l *link) awaitRoom(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && l.out.end-l.acked <= sendBuffer {
		return nil
	}
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.space.Broadcast()
	})
	defer stop()
	for l.err == nil && ctx.Err() == nil && l.out.end-l.acked > sendBuffer {
		l.space.Wait()
	}
	if l.err != nil {
		return l.err
	}
	return context.Cause(ctx)
}

// Read implements [io.Reader]. When a connection is lost, it continues with the next one.
func (l *link) Read(p []byte) (int, error) {
	for {
		c, err := l.connection()
		if err != nil {
			return 0, err
		}
		n, refused, err := l.readFrom(c, p)
		if refused != nil {
			l.close(refused, true)
			return 0, refused
		}
		if err != nil && l.reason() == nil {
			c.fail(err) // the writer ends the connection of a closed link
		}
		if n > 0 {
			return n, nil
		}
	}
}

// connection waits for a connection.
func (l *link) connection() (*conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.err == nil && l.cur == nil {
		l.arrived.Wait()
	}
	if l.err != nil {
		return nil, l.err
	}
	return l.cur, nil
}

// readFrom reads from a connection. refused is why the bytes are not to be passed on.
func (l *link) readFrom(c *conn, p []byte) (n int, refused, err error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	if !l.is(c) {
		return 0, nil, errReplaced
	}
	n, err = c.read(p)
	refused = l.frames.next(p[:n])
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 {
		l.received += uint64(n)
		l.heard = time.Now()
		if l.received-c.told > ackEvery {
			c.wakeLocked()
		}
	}
	return n, refused, err
}

func (l *link) is(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cur == c
}

// Close implements [io.Closer] for yamux, which calls it on an open link only if the other side
// does not speak yamux.
func (l *link) Close() error {
	l.close(fmt.Errorf("%w: malformed frame of yamux", ErrProtocol), true)
	return nil
}

// atEnd makes the link call stop when it is closed, or at once if it is. stop must not block.
func (l *link) atEnd(stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop = stop; l.err != nil {
		stop()
	}
}

// reason returns why the link was closed; nil if it is open.
func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// close ends the link. With farewell, the writer of the connection, if there is one, tells the
// other side.
func (l *link) close(err error, farewell bool) {
	if l.closeOnce(err, farewell) {
		l.ended()
	}
}

func (l *link) closeOnce(err error, farewell bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return false
	}
	l.err, l.farewell = err, farewell
	close(l.done)
	if l.stop != nil {
		l.stop()
	}
	if l.cur != nil {
		_ = l.cur.raw.SetDeadline(time.Now().Add(farewellTime))
	}
	l.broadcastLocked()
	return true
}

func (l *link) broadcastLocked() {
	l.space.Broadcast()
	l.arrived.Broadcast()
	if l.cur != nil {
		l.cur.wakeLocked()
	}
}

// attach makes c the connection of the link. peer is the number of bytes of the link that the other
// side has received; the bytes after them are sent (again).
func (l *link) attach(c *conn, peer uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return l.err
	case l.cur != nil:
		return errReplaced
	}
	if err := l.ackLocked(peer, l.out.end); err != nil {
		return err
	}
	c.sent, c.told = peer, l.received
	l.heard = time.Now()
	l.stuck = l.heard
	l.moveLocked(c)
	return nil
}

// detach gives up the connection, if there is one, waits until no byte of the link passes through
// it, and returns how many bytes were received.
func (l *link) detach() (received uint64) {
	l.mu.Lock()
	if c := l.cur; c != nil {
		l.loseLocked(c, errReplaced)
	}
	for l.writing {
		l.space.Wait()
	}
	l.mu.Unlock()

	l.reading.Lock()
	defer l.reading.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.received
}

// loseLocked ends the connection c with the reason err.
func (l *link) loseLocked(c *conn, err error) {
	if c.err == nil {
		c.err = err
		close(c.lost)
		c.raw.abort()
		if c.over != nil {
			go c.over()
		}
	}
	if l.cur == c {
		l.moveLocked(nil)
	}
	l.broadcastLocked()
}

// moveLocked sets the connection and notifies those who wait for a change.
func (l *link) moveLocked(c *conn) {
	l.cur = c
	l.since = time.Now()
	close(l.changed)
	l.changed = make(chan struct{})
	if l.moved != nil {
		l.moved()
	}
	l.broadcastLocked()
}

// ackLocked records that the other side has received all bytes before offset. It fails if they were
// not sent.
func (l *link) ackLocked(offset, sent uint64) error {
	if offset < l.acked || offset > sent {
		return fmt.Errorf("%w: %d acknowledged, %d to %d possible", errOffset, offset, l.acked, sent)
	}
	l.acked = offset
	l.releaseLocked()
	return nil
}

// releaseLocked frees the acknowledged bytes that are not being written.
func (l *link) releaseLocked() {
	offset := l.acked
	if l.writing {
		offset = min(offset, l.pinned)
	}
	l.out.release(offset)
	l.space.Broadcast()
}

// resumable reports whether the link can go on over a connection if the other side has received
// peer bytes.
func (l *link) resumable(peer uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return l.err
	case peer < l.acked || peer > l.out.end:
		return fmt.Errorf("%w: %d received, %d to %d possible", errOffset, peer, l.acked, l.out.end)
	}
	return nil
}

var _ io.ReadWriteCloser = (*link)(nil)

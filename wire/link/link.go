package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// sendBuffer bounds the bytes of a link that are kept until the other side has
// acknowledged them.
const sendBuffer = 8 << 20

// farewellTime bounds how long a closed link waits for its last bytes to get
// out.
const farewellTime = time.Second

// errOffset is the error for an offset that the link has never had.
var errOffset = errors.New("offset is not in the link")

// link is a stream of bytes each way that outlives the connections which carry
// it. It is the io.ReadWriteCloser that yamux runs on: one goroutine reads, one
// writes.
type link struct {
	name  string // given by the master; good only with the certificate of the same slave
	pace  pace
	ended func() // called once, when the link is closed

	keyLimit uint64 // bytes that a connection may carry away from here

	// reading is held while a byte of the link may be on its way from a
	// connection to the reader. Taken before mu.
	reading sync.Mutex

	mu       sync.Mutex
	space    sync.Cond // Write waits for room, detach for the writer to be done
	arrived  sync.Cond // Read waits for a connection
	out      queue
	acked    uint64 // bytes that the other side has received
	writing  bool   // bytes of the queue are being written to a connection
	pinned   uint64 // offset of the first of them
	received uint64 // bytes that our reader was given
	heard    time.Time
	since    time.Time     // when cur became nil, or stopped to be
	changed  chan struct{} // closed when cur becomes nil, or stops to be
	moved    func()        // called then; nil: nobody wants to know
	cur      *conn         // nil while there is no connection
	err      error         // why the link was closed
	farewell bool          // tell the other side why
	answers  bool          // signs of life are answered, and not sent at intervals: the master's
	done     chan struct{} // closed when err is set
	stop     func()        // called then; nil: nobody is to be stopped
}

// pace is how often the ends of a link speak, and how long they wait.
type pace struct {
	lease    time.Duration
	interval time.Duration // a sign of life after so much time
	silence  time.Duration // the connection is given up after so much time
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
		changed:  make(chan struct{}),
		done:     make(chan struct{}),
	}
	l.space.L, l.arrived.L = &l.mu, &l.mu
	return l
}

// Write implements [io.Writer]. It waits while the other side is behind by the
// whole send buffer, and does not mind that there is no connection. A little
// is sent at once, much is left to the writer of the connection, which then
// works while yamux copies the next.
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

// take adds p to the queue. When the queue is to be sent by the caller, it
// returns what and over which connection.
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
	c := l.cur
	switch {
	case c == nil || announces(p):
		return nil, parcel{}, nil
	case l.writing || l.out.end-c.sent > tlsRecord:
		c.wakeLocked()
		return nil, parcel{}, nil
	}
	return c, c.parcelLocked(), nil
}

// announces reports whether p is the header of a yamux frame whose body is
// going to be written next. To send it alone would double the records and the
// wake-ups of every small message.
func announces(p []byte) bool {
	const headerSize, typeAt, lengthAt, typeData = 12, 1, 8, 0
	return len(p) == headerSize && p[typeAt] == typeData && binary.BigEndian.Uint32(p[lengthAt:]) > 0
}

// Read implements [io.Reader]. It goes on with the next connection when one is
// lost.
func (l *link) Read(p []byte) (int, error) {
	for {
		c, err := l.connection()
		if err != nil {
			return 0, err
		}
		n, err := l.readFrom(c, p)
		if err != nil && l.reason() == nil {
			c.fail(err) // that of a closed link is ended by its writer
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

func (l *link) readFrom(c *conn, p []byte) (int, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	if !l.is(c) {
		return 0, errReplaced
	}
	n, err := c.read(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 {
		l.received += uint64(n)
		l.heard = time.Now()
		if l.received-c.told > ackEvery {
			c.wakeLocked()
		}
	}
	return n, err
}

func (l *link) is(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cur == c
}

// Close implements [io.Closer], for yamux, which calls it on a link that is
// not closed yet only when the other side does not speak yamux.
func (l *link) Close() error {
	l.close(fmt.Errorf("%w: malformed frame of yamux", ErrProtocol), true)
	return nil
}

// atEnd has stop called when the link is closed, or at once if it is. It must not block.
func (l *link) atEnd(stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop = stop; l.err != nil {
		stop()
	}
}

// reason returns why the link was closed; nil while it is not.
func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// close ends the link. With farewell, the other side is told when there is a
// connection to tell it over; the connection's writer does that.
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

// attach makes c the connection of the link. peer is how many bytes of the link
// the other side has received; everything after them is sent (again).
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
	l.moveLocked(c)
	return nil
}

// detach gives up the connection, if there is one, waits until nothing of the
// link goes through it any more, and returns how many bytes were received.
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

// moveLocked sets the connection and tells those who wait for a change.
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

// ackLocked notes that the other side has received all bytes before offset,
// which it cannot have when they were not sent.
func (l *link) ackLocked(offset, sent uint64) error {
	if offset < l.acked || offset > sent {
		return fmt.Errorf("%w: %d acknowledged, %d to %d possible", errOffset, offset, l.acked, sent)
	}
	l.acked = offset
	l.releaseLocked()
	return nil
}

// releaseLocked frees what was acknowledged and is not just being written.
func (l *link) releaseLocked() {
	offset := l.acked
	if l.writing {
		offset = min(offset, l.pinned)
	}
	l.out.release(offset)
	l.space.Broadcast()
}

// resumable reports whether a connection over which the other side has received
// so many bytes can go on.
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

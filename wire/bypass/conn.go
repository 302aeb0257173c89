package bypass

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

const (
	// MaxRecord bounds the bytes in a record: one of the largest frames with data fits.
	MaxRecord = wire.HeaderSize + wire.MaxData

	lengthSize = 4
	overhead   = 16 // of AES-GCM
)

// most bounds the bytes of one direction, and so what one key seals: with 2^34 blocks an attacker's chance
// to tell the bytes from others stays below 2^-60 (RFC 8446, 5.5, has the same bound).
var most uint64 = 1 << 38

// What goes wrong with the bytes of a connection.
var (
	ErrForged = errors.New("a record was not sealed by the other end")
	ErrUsedUp = errors.New("the keys of the connection have sealed as much as they may")
)

// Socket is a connection that carries records.
type Socket interface {
	io.Closer
	syscall.Conn
	SetDeadline(t time.Time) error
	SetReadDeadline(t time.Time) error
}

// Conn is one end of a bypass.
type Conn struct {
	socket Socket
	raw    syscall.RawConn

	in      direction
	held    *[buffer]byte // what was received and not opened; nil: nothing
	at, end int           // of it
	rest    []byte        // of a record that was opened where it lies, for Read

	out     direction
	pending *[]byte // records that are not written yet; nil: none
}

// direction is the keys and the count of one direction.
type direction struct {
	aead   cipher.AEAD
	number uint64 // of the next record
	used   uint64 // bytes
}

// buffer is how much is received at once; a record fits into it twice.
const buffer = 2 * (lengthSize + MaxRecord + overhead)

var buffers = sync.Pool{New: func() any { return new([buffer]byte) }}

// outgoing are records that wait to be written.
var outgoing = sync.Pool{New: func() any { return new([]byte) }}

// New returns the end of a connection that receives by one key and sends by another.
func New(socket Socket, receive, send []byte) (*Conn, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &Conn{socket: socket, raw: raw}
	for d, key := range map[*direction][]byte{&c.in: receive, &c.out: send} {
		if len(key) != wire.BypassKey {
			return nil, fmt.Errorf("%w: a key of %d bytes", wire.ErrFrame, len(key))
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		if d.aead, err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// next returns the nonce of the next record, which has n bytes.
func (d *direction) next(n int) (nonce [12]byte, err error) {
	if d.used += uint64(n); d.used > most {
		return nonce, ErrUsedUp
	}
	binary.BigEndian.PutUint64(nonce[4:], d.number)
	d.number++
	return nonce, nil
}

// Write writes a record with all of b, at most MaxRecord bytes.
func (c *Conn) Write(b []byte) (int, error) {
	if err := c.WriteParts(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// WriteParts writes a record for each part, all of them at once.
func (c *Conn) WriteParts(parts ...[]byte) error {
	for _, p := range parts {
		if err := c.Add(p); err != nil {
			return err
		}
	}
	return c.Flush()
}

// Add makes a record of all of b, at most MaxRecord bytes, which is written with others: by the next Flush, or when
// they are many. When the keys are used up it closes the connection.
func (c *Conn) Add(b []byte) error {
	if c.pending != nil && len(*c.pending) >= wire.AtOnce {
		if err := c.Flush(); err != nil {
			return err
		}
	}
	if len(b) > MaxRecord {
		return fmt.Errorf("%w: a record of %d bytes", wire.ErrFrame, len(b))
	}
	nonce, err := c.out.next(len(b))
	if err != nil {
		c.Close() // the other end goes on over another connection
		return err
	}
	if c.pending == nil {
		c.pending = outgoing.Get().(*[]byte)
	}
	*c.pending = binary.LittleEndian.AppendUint32(*c.pending, uint32(len(b)+overhead))
	*c.pending = c.out.aead.Seal(*c.pending, nonce[:], b, nil)
	return nil
}

// Flush writes the records that were added.
func (c *Conn) Flush() error {
	if c.pending == nil {
		return nil
	}
	err := c.send(*c.pending)
	*c.pending = (*c.pending)[:0]
	outgoing.Put(c.pending)
	c.pending = nil
	return err
}

func (c *Conn) send(b []byte) (err error) {
	waitErr := c.raw.Write(func(fd uintptr) bool {
		for len(b) > 0 {
			n := 0
			n, err = unix.Write(int(fd), b)
			switch {
			case err == nil:
				b = b[n:]
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				return false
			default:
				return true
			}
		}
		return true
	})
	return errors.Join(waitErr, err)
}

// Read implements [io.Reader]. It takes a record as it is if b has room for the largest.
func (c *Conn) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		if err := c.Await(); err != nil {
			return 0, err
		}
		opened, err := c.Open(b)
		if err != nil || len(b) >= MaxRecord {
			return len(opened), err
		}
		c.rest = opened
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Rest returns how many bytes of the current record have not been read.
func (c *Conn) Rest() int { return len(c.rest) }

// Await waits until there is a record. No buffer is held while nothing comes. At the end of the connection the error
// is io.EOF, or io.ErrUnexpectedEOF within a record. Only the frames say whether the end was meant.
func (c *Conn) Await() error {
	for {
		have := c.end - c.at
		if have >= lengthSize {
			n := int(binary.LittleEndian.Uint32(c.held[c.at:]))
			switch {
			case n < overhead || n > MaxRecord+overhead:
				return fmt.Errorf("%w: a record of %d bytes", wire.ErrFrame, n)
			case have >= lengthSize+n:
				return nil
			}
		}
		if err := c.receive(); err != nil {
			return err
		}
	}
}

// receive waits for bytes, and takes in as many as there are.
func (c *Conn) receive() error {
	if c.held != nil && c.at > 0 && (c.at == c.end || buffer-c.end < buffer/2) {
		c.end = copy(c.held[:], c.held[c.at:c.end])
		c.at = 0
	}
	n, err := 0, error(nil)
	waitErr := c.raw.Read(func(fd uintptr) bool {
		if c.held == nil {
			c.held = buffers.Get().(*[buffer]byte)
		}
		for {
			n, err = unix.Read(int(fd), c.held[c.end:])
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				c.release()
				return false
			default:
				return true
			}
		}
	})
	switch {
	case waitErr != nil:
		return waitErr
	case err != nil:
		return err
	case n == 0 && c.at == c.end:
		return io.EOF
	case n == 0:
		return io.ErrUnexpectedEOF
	}
	c.end += n
	return nil
}

// release gives the buffer back if there is nothing in it.
func (c *Conn) release() {
	if c.held != nil && c.at == c.end {
		buffers.Put(c.held)
		c.held, c.at, c.end = nil, 0, 0
	}
}

// Open opens the record that Await has waited for into b, or, if there is too little room, where it lies. There it is valid
// until the next call of Await or Read.
func (c *Conn) Open(b []byte) ([]byte, error) {
	n := int(binary.LittleEndian.Uint32(c.held[c.at:]))
	sealed := c.held[c.at+lengthSize : c.at+lengthSize+n]
	nonce, err := c.in.next(n - overhead)
	if err != nil {
		return nil, err
	}
	if cap(b) < n-overhead {
		b = sealed
	}
	opened, err := c.in.aead.Open(b[:0], nonce[:], sealed, nil)
	if err != nil {
		return nil, ErrForged
	}
	c.at += lengthSize + n
	return opened, nil
}

// SetDeadline bounds how long reads and writes may take.
func (c *Conn) SetDeadline(t time.Time) error { return c.socket.SetDeadline(t) }

// SetReadDeadline bounds how long reads may take.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.socket.SetReadDeadline(t) }

// Close ends the connection. Reads and writes that wait fail.
func (c *Conn) Close() error { return c.socket.Close() }

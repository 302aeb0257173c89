package stdio

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"bproc/wire"
)

// Client is a stream to a client. Frames are written to it one at a time.
//
// A client can have a bypass beside its stream (wire/bypass), which takes over all frames. The stream stays: it
// says when the client has left, and takes through the master's barrier what the client must wait for before
// it shows output.
type Client struct {
	stream io.WriteCloser
	mu     sync.Mutex

	bypass bool
	beside *Client // of a bypass: the stream, once it is attached
	event  uint64  // of a bypass: the last event that was told on the stream

	telling sync.Mutex
	input   uint64 // how much input was taken
	told    uint64
	busy    bool // somebody tells, or is going to
}

// NewClient returns a client that has this stream.
func NewClient(stream io.WriteCloser) *Client { return &Client{stream: stream} }

// NewBypass returns a client that has this bypass.
func NewBypass(conn io.WriteCloser) *Client { return &Client{stream: conn, bypass: true} }

// batched is a connection that writes frames together: those that were added, when it is flushed.
type batched interface {
	Add(frame []byte) error
	Flush() error
}

// Write writes a frame.
func (a *Client) Write(frame []byte) error { return a.write(frame, a.stream.Write) }

func (a *Client) write(frame []byte, write func([]byte) (int, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.tellEventLocked(frame); err != nil {
		return err
	}
	_, err := write(frame)
	return err
}

// Patient is a connection that can send a frame together with the next one of whatever stream.
type Patient interface {
	WriteLate(frame []byte) (int, error)
	Hurry()
}

// WriteBefore writes a frame that another one will follow at once, by this stream or another. When the other one
// has perhaps been sent, it does not wait for that.
func (a *Client) WriteBefore(frame []byte, sent *atomic.Bool) error {
	p, ok := a.stream.(Patient)
	if !ok || sent.Load() {
		return a.Write(frame)
	}
	err := a.write(frame, p.WriteLate)
	if sent.Load() {
		p.Hurry()
	}
	return err
}

// Add is Write where the connection is not batched, and else leaves the writing to the next call of Write or Flush.
func (a *Client) Add(frame []byte) error {
	b, ok := a.stream.(batched)
	if !ok {
		return a.Write(frame)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.tellEventLocked(frame); err != nil {
		return err
	}
	return b.Add(frame)
}

// Flush writes the frames that were added.
func (a *Client) Flush() error {
	b, ok := a.stream.(batched)
	if !ok {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return b.Flush()
}

// tellEventLocked says on the stream, before a frame goes by the bypass, that the client is to wait for an event.
func (a *Client) tellEventLocked(frame []byte) error {
	if a.beside == nil {
		return nil
	}
	h, err := wire.ParseHeader(frame)
	if err != nil || h.Type != wire.TypeStdout && h.Type != wire.TypeStderr || h.Number <= a.event {
		return err
	}
	a.event = h.Number
	return a.beside.Write(wire.AppendData(nil, wire.TypeEffective, h.Number, nil))
}

// taken tells the client how much input was taken. It does not wait: whoever calls it
// reads the stream, and the client may read nothing before it has written.
func (a *Client) taken(number uint64, start func(func())) {
	a.telling.Lock()
	defer a.telling.Unlock()
	a.input = number
	if !a.busy {
		a.busy = true
		start(a.tell)
	}
}

// holdBack holds back what taken is to tell, until goOn: the answer that the client is attached comes first.
func (a *Client) holdBack() {
	a.telling.Lock()
	defer a.telling.Unlock()
	a.busy = true
}

func (a *Client) goOn(start func(func())) {
	a.telling.Lock()
	defer a.telling.Unlock()
	if a.busy = a.input != a.told; a.busy {
		start(a.tell)
	}
}

// tell tells until there is nothing new, or the stream has ended.
func (a *Client) tell() {
	for {
		a.telling.Lock()
		number := a.input
		if a.busy = number != a.told; !a.busy {
			a.telling.Unlock()
			return
		}
		a.told = number
		a.telling.Unlock()
		_ = a.Write(wire.AppendData(nil, wire.TypeStdinTaken, number, nil)) // a stream that is gone has no reader
	}
}

// close closes the stream, and a bypass.
func (a *Client) close() {
	if a.beside != nil {
		a.beside.stream.Close()
	}
	a.stream.Close()
}

// stop ends a stream whose client has come back by another.
func (a *Client) stop() {
	if a.beside != nil {
		a.beside.stop()
	}
	a.stopThis()
}

// stopThis is stop for a bypass without its stream.
func (a *Client) stopThis() {
	a.stream.Close()
	a.expire(0) // its reader has nothing to wait for
}

// expire ends the reading of the stream after some time.
func (a *Client) expire(after time.Duration) {
	if s, ok := a.stream.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = s.SetReadDeadline(time.Now().Add(after))
	}
}

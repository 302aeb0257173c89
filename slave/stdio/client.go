package stdio

import (
	"io"
	"sync"
	"time"

	"bproc/wire"
)

// Client is a stream to a client. Frames are written to it one at a time.
type Client struct {
	stream io.WriteCloser
	mu     sync.Mutex

	telling sync.Mutex
	input   uint64 // how much input was taken
	told    uint64
	busy    bool // somebody tells
}

// NewClient returns a client that has this stream.
func NewClient(stream io.WriteCloser) *Client { return &Client{stream: stream} }

// Write writes a frame.
func (a *Client) Write(frame []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := a.stream.Write(frame)
	return err
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

// stop ends a stream whose client has come back by another.
func (a *Client) stop() {
	a.stream.Close()
	if s, ok := a.stream.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = s.SetReadDeadline(time.Unix(1, 0)) // its reader has nothing to wait for
	}
}

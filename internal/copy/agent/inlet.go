package agent

import (
	"io"
	"sync"
)

// inlet is the stream from messages. The sender's window bounds the bytes that wait here; a sender
// that exceeds it breaks the stream.
type inlet struct {
	conn *Conn
	self int

	mu      sync.Mutex
	changed *sync.Cond
	queue   [][]byte
	size    int   // bytes in queue
	whole   bool  // the end of the stream has come
	err     error // why no more will come
}

func newInlet(conn *Conn, self int) *inlet {
	i := &inlet{conn: conn, self: self}
	i.changed = sync.NewCond(&i.mu)
	return i
}

func (i *inlet) put(b []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.size += len(b); i.size > window || len(b) == 0 {
		i.queue, i.err = nil, errBroken
	}
	if i.err == nil {
		i.queue = append(i.queue, b)
	}
	i.changed.Broadcast()
}

// end marks the end of the stream, or the reason why it is incomplete.
func (i *inlet) end(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.whole = i.whole || err == nil
	if i.err == nil {
		i.err = err
	}
	i.changed.Broadcast()
}

// Read returns queued bytes and acknowledges them.
func (i *inlet) Read(b []byte) (int, error) {
	i.mu.Lock()
	for len(i.queue) == 0 && !i.whole && i.err == nil {
		i.changed.Wait()
	}
	if i.err != nil || len(i.queue) == 0 {
		defer i.mu.Unlock()
		if i.err != nil {
			return 0, i.err
		}
		return 0, io.EOF
	}
	n := copy(b, i.queue[0])
	i.size -= n
	if i.queue[0] = i.queue[0][n:]; len(i.queue[0]) == 0 {
		i.queue = i.queue[1:]
	}
	i.mu.Unlock()
	return n, i.conn.Send(Taken{i.self, n})
}

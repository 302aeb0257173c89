package agent

import (
	"io"
	"sync"
)

// inlet is the stream as it comes in messages. The window of the sender bounds what waits here: one that
// does not keep to it has broken the stream.
type inlet struct {
	conn *Conn
	self int

	mu      sync.Mutex
	changed *sync.Cond
	queue   [][]byte
	size    int   // bytes in it
	whole   bool  // its end has come
	err     error // why there will not be more
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

// end is the end of the stream, or why there is none.
func (i *inlet) end(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.whole = i.whole || err == nil
	if i.err == nil {
		i.err = err
	}
	i.changed.Broadcast()
}

// Read gives what has come, and says that it was taken.
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

package agent

import (
	"errors"
	"io"
	"sync"

	"bproc/internal/copy/stream"
	"bproc/internal/copy/target"
)

// local is the sink for this machine's target. Its own goroutine reads the stream.
type local struct {
	bytes  chan []byte // written pieces; each is read before write returns
	taken  chan struct{}
	broken chan struct{}
	once   sync.Once
	done   chan struct{} // the reader has ended
	err    error         // of the reader; valid after done

	stalled chan struct{} // closed when nothing waits for the reader any more

	busy bool // the last bytes belong to a write that has not returned

	mu     sync.Mutex
	rest   []byte // of the current write
	gaveUp bool   // the write returned before its bytes were read, and its buffer is reused
}

// startLocal starts to receive, at a target, a stream that was sealed for a key.
func startLocal(t *target.Target, key []byte) *local {
	l := &local{bytes: make(chan []byte), taken: make(chan struct{}), broken: make(chan struct{}), done: make(chan struct{}), stalled: make(chan struct{})}
	go func() {
		defer close(l.done)
		sealed := newOpener(l, key)
		l.err = t.Receive(stream.NewReader(sealed))
		if l.err == nil {
			l.drain(sealed)
		}
	}()
	return l
}

// drain checks that nothing follows the end of the stream.
func (l *local) drain(from io.Reader) {
	if n, err := from.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		l.err = errBroken
	}
}

// Read implements [io.Reader] for the goroutine that receives.
func (l *local) Read(b []byte) (int, error) {
	for {
		if n, err := l.take(b); n > 0 || err != nil {
			return n, err
		}
		if l.busy {
			l.busy = false
			select {
			case l.taken <- struct{}{}:
			case <-l.broken:
				return 0, errBroken
			}
		}
		select {
		case rest, ok := <-l.bytes:
			if !ok {
				return 0, io.EOF
			}
			l.busy = true
			l.put(rest)
		case <-l.broken:
			return 0, errBroken
		}
	}
}

// take copies remaining bytes of the last write.
func (l *local) take(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gaveUp {
		return 0, errBroken
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *local) put(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = b
}

// giveUp ends a write before all its bytes are read.
func (l *local) giveUp() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaveUp = true
	return errDropped
}

func (l *local) write(b []byte, _ bool) error {
	select {
	case l.bytes <- b:
	case <-l.done:
		return l.end()
	case <-l.broken:
		return l.giveUp()
	}
	select {
	case <-l.taken:
		return nil
	case <-l.done:
		return l.end()
	case <-l.broken: // the target may take long to notice
		return l.giveUp()
	}
}

// end returns the reason why the reader ended before the stream.
func (l *local) end() error {
	if l.err == nil {
		return errBroken
	}
	return l.err
}

func (l *local) finish() error {
	close(l.bytes)
	<-l.done
	return l.err
}

func (l *local) abort() { l.once.Do(func() { close(l.broken) }) }

// feed is the sink that sends the stream in messages, with few bytes under way.
type feed struct {
	conn *Conn

	mu      sync.Mutex
	changed *sync.Cond
	flight  int // bytes that are not acknowledged
	aborted bool
}

// window is the limit for unacknowledged bytes in messages.
const window = 1 << 20

func newFeed(conn *Conn) *feed {
	f := &feed{conn: conn}
	f.changed = sync.NewCond(&f.mu)
	return f
}

func (f *feed) write(b []byte, _ bool) error {
	f.mu.Lock()
	for f.flight+len(b) > window && !f.aborted {
		f.changed.Wait()
	}
	f.flight += len(b)
	aborted := f.aborted
	f.mu.Unlock()
	if aborted {
		return errDropped
	}
	return f.conn.Send(Data{b})
}

// take handles an acknowledgement of bytes.
func (f *feed) take(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flight -= n
	f.changed.Broadcast()
}

// finish ends the stream when all bytes are acknowledged.
func (f *feed) finish() error {
	f.mu.Lock()
	for f.flight > 0 && !f.aborted {
		f.changed.Wait()
	}
	aborted := f.aborted
	f.mu.Unlock()
	if aborted {
		return errDropped
	}
	return f.conn.Send(DataEnd{})
}

func (f *feed) abort() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.aborted = true
	f.changed.Broadcast()
}

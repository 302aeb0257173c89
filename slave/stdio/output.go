package stdio

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/widepipe"
	"bproc/slave/journal"
	"bproc/wire"
)

// output is one descriptor to which a process writes. It is read on while there is no
// stream, until the journal is full.
type output struct {
	t     wire.Type
	stamp func() uint64 // number of the last event
	file  *os.File      // the pipe
	pipe  syscall.RawConn
	kept  *journal.Output
	wake  chan struct{} // something is there for run, which waits
	ends  atomic.Bool   // the end of the process is going to be reported, or has been

	mu     sync.Mutex
	next   *Client // to go on with
	from   uint64  // and where
	closed bool

	// Only run uses these.
	at   *Client
	sent uint64
	end  bool // of the file
	told bool // on this attachment
}

// muchFilled is how many bytes of a process that writes much are taken at a time at least.
const muchFilled = wire.MaxData / 2

func newOutput(t wire.Type, file *os.File, kept *journal.Output, stamp func() uint64) (*output, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &output{t: t, stamp: stamp, file: file, pipe: raw, kept: kept, wake: make(chan struct{}, 1)}, nil
}

// attach has the output go to another stream, beginning with a byte. The client has got
// those before, but has room for more only as it says what it has taken.
func (o *output) attach(a *Client, from uint64) {
	o.mu.Lock()
	o.next, o.from = a, from
	o.mu.Unlock()
	o.interrupt()
}

// close ends the reading of output: a process that still writes gets SIGPIPE, as it
// would from a pipe whose reader has gone.
func (o *output) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.interrupt()
}

// interrupt has run look at what is new, whatever it waits for.
func (o *output) interrupt() {
	o.look()
	_ = o.file.SetReadDeadline(time.Unix(1, 0)) // fails when it is closed, and nobody reads
}

func (o *output) look() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// taken takes in how much the client has taken. What it said by a former stream may be
// more than it says by the next. When the output is closed, its place in the journal may be that of
// another process.
func (o *output) taken(offset uint64) error {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return nil
	}
	err := o.kept.Take(max(offset, o.kept.Taken()))
	o.mu.Unlock()
	o.look()
	return err
}

// run reads and sends until the output is closed.
func (o *output) run() {
	defer o.file.Close()
	for wide := false; o.turn(); {
		o.push()
		if o.end || o.kept.Room() == 0 {
			<-o.wake
			continue
		}
		switch n, err := o.fill(); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = o.file.SetReadDeadline(time.Time{}) // and turn looks at what there is, after that
		case err != nil: // the end, or as good as one
			o.end = true
		case n >= muchFilled && !wide:
			widepipe.Widen(o.file)
			wide = true
		}
	}
}

// turn takes in what others want; false: to close.
func (o *output) turn() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.next != nil {
		o.at, o.sent, o.told = o.next, o.from, false
		o.next = nil
	}
	return !o.closed
}

// fill waits for output, and takes as much as there is and is worth sending at once.
func (o *output) fill() (n int, err error) {
	waited := o.pipe.Read(func(fd uintptr) bool {
		for more := true; more; {
			var filled int
			filled, err = o.kept.Fill(int(fd))
			n += filled
			more = filled >= muchFilled && n < wire.AtOnce && o.kept.Room() > 0
		}
		return n > 0 || !errors.Is(err, unix.EAGAIN)
	})
	switch {
	case waited != nil:
		return 0, waited
	case n > 0 && errors.Is(err, unix.EAGAIN):
		return n, nil
	}
	return n, err
}

// push sends what is there.
func (o *output) push() {
	from := o.sent
	for o.at != nil && o.sent < o.kept.Head() {
		n, err := o.kept.Frame(o.t, o.stamp(), o.sent, o.at.Add)
		if err != nil {
			o.at = nil // another stream will come, or nobody wants this
			break
		}
		o.sent += uint64(n)
	}
	if o.at != nil && o.sent > from && o.at.Flush() != nil {
		o.at = nil
	}
	if o.at == nil || !o.end || o.told {
		return
	}
	// The end of a process follows the end of its output at once: what is told together wakes master
	// and client once.
	if o.at.WriteBefore(wire.AppendData(nil, o.t, o.stamp(), nil), &o.ends) != nil {
		o.at = nil
		return
	}
	o.told = true
}

package stdio

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/widepipe"
	"bproc/slave/journal"
	"bproc/wire"
)

// input is the standard input of a process. What the process does not read yet waits
// here, so that its client's stream is read on: there may be something else in it for
// which the process waits.
type input struct {
	file  *os.File // the pipe
	pipe  syscall.RawConn
	kept  *journal.Input
	start func(func()) // a goroutine
	drop  func()       // nobody else is to keep the pipe open
	done  func()       // nothing is at work on the input any more

	mu     sync.Mutex
	queue  [][]byte
	queued int
	end    bool // of the file, behind the queue
	closed bool // nothing goes to the process any more
	busy   bool // run runs
	left   bool // done was called
	wide   bool // the pipe has room for bulk data
	at     *Client
	said   uint64 // what the client was told last
}

// allTaken says that the end of standard input was taken.
const allTaken = math.MaxUint64

func newInput(file *os.File, kept *journal.Input, start func(func()), drop, done func()) (*input, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &input{file: file, pipe: raw, kept: kept, start: start, drop: drop, done: done}, nil
}

// endedInput returns the input of a process to which a former daemon has said that
// nothing more comes.
func endedInput(kept *journal.Input) *input {
	return &input{kept: kept, end: true, closed: true, left: true}
}

// resume goes on with what a former daemon has put.
func (i *input) resume() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.goOnLocked()
}

// accept takes what a client sends by a stream; nothing is the end of the file. By
// another than the last attached, it comes a second time.
func (i *input) accept(by *Client, data []byte) error {
	i.mu.Lock()
	if i.at != by {
		i.mu.Unlock()
		return nil
	}
	if i.queued+len(data) > wire.Window {
		i.mu.Unlock()
		return fmt.Errorf("%w: more input than the window has room for", wire.ErrFrame)
	}
	if len(data) >= wire.MaxData/2 && !i.wide && !i.closed {
		widepipe.Widen(i.file)
		i.wide = true
	}
	switch {
	case i.end || i.closed: // nobody reads it, or it is said again
	case len(data) == 0:
		i.end = true
	case i.busy:
		i.queueLocked(data)
	default:
		i.queueLocked(data[i.passLocked(data):])
	}
	i.goOnLocked()
	at, taken := i.newsLocked()
	i.mu.Unlock()
	i.tell(at, taken)
	return nil
}

// queueLocked keeps data. Pieces are put together: small ones would take many times their bytes.
func (i *input) queueLocked(data []byte) {
	if len(data) == 0 || i.closed {
		return
	}
	if last := len(i.queue) - 1; last >= 0 && len(i.queue[last])+len(data) <= wire.MaxData {
		i.queue[last] = append(i.queue[last], data...)
	} else {
		i.queue = append(i.queue, slices.Clone(data))
	}
	i.queued += len(data)
}

// passLocked gives the process what it can have without waiting, and returns how much
// that is.
func (i *input) passLocked(data []byte) (passed int) {
	for passed < len(data) {
		n, err := i.kept.Put(data[passed:])
		passed += n
		if err == nil {
			err = i.move(false)
		}
		switch {
		case errors.Is(err, unix.EAGAIN):
			return passed
		case err != nil:
			i.overLocked()
			return len(data)
		}
	}
	return passed
}

// overLocked is for when nothing goes to the process any more: the end was taken, or
// it reads nothing.
func (i *input) overLocked() {
	i.kept.End()
	i.closed = true
	i.dropLocked()
}

func (i *input) dropLocked() {
	i.queue, i.queued = nil, 0
}

// move moves what the journal has to the process.
func (i *input) move(wait bool) (err error) {
	waited := i.pipe.Write(func(fd uintptr) bool {
		err = i.kept.Move(int(fd))
		return !wait || !errors.Is(err, unix.EAGAIN)
	})
	if waited != nil {
		return waited
	}
	return err
}

// goOnLocked sees to it that what waits comes to the process, and then the end.
func (i *input) goOnLocked() {
	switch {
	case i.busy || i.left:
		return
	case i.closed:
	case i.queued > 0 || i.kept.Held() > 0:
		i.busy = true
		i.start(i.run)
		return
	case i.end:
		i.overLocked()
	default:
		return
	}
	i.left = true
	i.drop()
	i.file.Close()
	i.done()
}

// run waits for the process until nothing waits here.
func (i *input) run() {
	for more := true; more; {
		err := i.move(true)
		i.mu.Lock()
		if err != nil && !i.closed {
			i.overLocked()
		}
		for len(i.queue) > 0 && i.kept.Held() == 0 {
			i.nextLocked()
		}
		if more = i.kept.Held() > 0 && !i.closed; !more {
			i.busy = false
			i.goOnLocked()
		}
		at, taken := i.newsLocked()
		i.mu.Unlock()
		i.tell(at, taken)
	}
}

// nextLocked gives the process the first that waits.
func (i *input) nextLocked() {
	first := i.queue[0]
	n := i.passLocked(first)
	if i.closed {
		return
	}
	i.queued -= n
	if i.queue[0] = first[n:]; n == len(first) {
		i.queue = i.queue[1:]
	}
}

// takenLocked returns how many bytes the client need not keep.
func (i *input) takenLocked() uint64 {
	if i.left && i.kept.Ended() {
		return allTaken
	}
	return i.kept.Taken()
}

// newsLocked returns what the client is to be told, if anything.
func (i *input) newsLocked() (*Client, uint64) {
	taken := i.takenLocked()
	if i.at == nil || taken-i.said < wire.TellEvery {
		return nil, 0
	}
	i.said = taken
	return i.at, taken
}

func (i *input) tell(at *Client, taken uint64) {
	if at != nil {
		at.taken(taken, i.start)
	}
}

// attach goes on with another stream, after the bytes whose number it returns. What
// waits here comes again.
func (i *input) attach(a *Client) uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dropLocked()
	i.end = i.closed
	i.at, i.said = a, i.takenLocked()
	return i.said
}

// finish is for when no more comes: the end follows what is here.
func (i *input) finish() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.end, i.at = true, nil
	i.goOnLocked()
}

// close gives up what waits.
func (i *input) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.left {
		return
	}
	i.closed = true
	i.dropLocked()
	_ = i.file.SetWriteDeadline(time.Unix(1, 0)) // wakes run
	i.goOnLocked()
}

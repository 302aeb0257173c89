package journal

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// outputWords are what the next daemon needs to know of an output. Bytes are counted
// from 0, the start of the process.
type outputWords struct {
	head   uint64 // in the ring up to here
	target uint64 // head, or what it will be when the mover has been read
	taken  uint64 // said to be taken up to here
	hidden uint64 // 1 + where in the memory the header of a frame hides the bytes in saved; 0: nowhere
	saved  [wire.HeaderSize]byte
}

// Output is what a process has written to one descriptor, from what the client has said
// to have taken to what has been read.
type Output struct {
	w     *outputWords
	mem   []byte // the ring, with one header's room before it
	mover mover
}

func newOutput(lane []byte) *Output {
	return &Output{w: (*outputWords)(unsafe.Pointer(&lane[0])), mem: lane[pageSize-wire.HeaderSize:], mover: noMover}
}

func (o *Output) clear() { *o.w = outputWords{} }

// Head returns how many bytes have been read.
func (o *Output) Head() uint64 { return atomic.LoadUint64(&o.w.head) }

// Taken returns how many bytes need not be kept.
func (o *Output) Taken() uint64 { return atomic.LoadUint64(&o.w.taken) }

// Take takes in that bytes need not be kept. It may be called by any goroutine, by one at
// a time.
func (o *Output) Take(taken uint64) error {
	if taken < o.Taken() || taken > o.Head() {
		return fmt.Errorf("%w: byte %d of %d to %d is said to be taken", wire.ErrFrame, taken, o.Taken(), o.Head())
	}
	atomic.StoreUint64(&o.w.taken, taken)
	return nil
}

// Room returns how many bytes can be read before some must be taken.
func (o *Output) Room() int { return int(wire.Window - (o.Head() - o.Taken())) }

// at returns where in the ring a byte is.
func at(offset uint64) int { return int(offset % wire.Window) }

// Fill reads what there is from a pipe, as much as one frame holds at most. At the end
// of the file the error is io.EOF, and EAGAIN where there is nothing.
func (o *Output) Fill(pipe int) (int, error) {
	head := o.w.head
	n, err := splice(pipe, o.mover.write, min(o.Room(), wire.Window-at(head), wire.MaxData))
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	atomic.StoreUint64(&o.w.target, head+uint64(n))
	return n, o.collect()
}

// collect reads from the mover until the ring has come to its target.
func (o *Output) collect() error {
	for head := o.w.head; head < o.w.target; {
		from := wire.HeaderSize + at(head)
		to := min(from+int(o.w.target-head), len(o.mem))
		n, err := unix.Read(o.mover.read, o.mem[from:to])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("read a mover: %w", err)
		default:
			// Until the target is reached the head stays: it is the base for what
			// the number of bytes in the mover means.
			if head += uint64(n); head == o.w.target {
				atomic.StoreUint64(&o.w.head, head)
			}
		}
	}
	return nil
}

// resume brings what a daemon has left to where it would have come.
func (o *Output) resume() error {
	held, err := o.mover.held()
	if err != nil {
		return err
	}
	w := o.w
	if w.head > w.target || w.target-w.head > wire.MaxData || w.taken > w.head || w.head-w.taken > wire.Window {
		return fmt.Errorf("%w: output to %d, %d of it taken, and to %d", ErrCorrupt, w.head, w.taken, w.target)
	}
	if w.hidden > uint64(len(o.mem)-wire.HeaderSize)+1 {
		return fmt.Errorf("%w: a header at %d", ErrCorrupt, w.hidden)
	}
	o.uncover()
	left := uint64(held)
	switch {
	case w.target == w.head: // it was killed before it wrote the target
		if left > uint64(min(o.Room(), wire.Window-at(w.head), wire.MaxData)) {
			return fmt.Errorf("%w: a mover of %d bytes", ErrCorrupt, held)
		}
		atomic.StoreUint64(&w.target, w.head+left)
	case left > w.target-w.head || at(w.head)+int(w.target-w.head) > wire.Window:
		return fmt.Errorf("%w: %d of %d bytes in a mover", ErrCorrupt, held, w.target-w.head)
	default: // some of it is in the ring
		atomic.StoreUint64(&w.head, w.target-left)
	}
	return o.collect()
}

// Frame calls write with a frame of what follows an offset, as much as one frame holds
// and lies in a row, and returns how much that was. The header hides bytes before it
// meanwhile.
func (o *Output) Frame(t wire.Type, number, offset uint64, write func([]byte) error) (int, error) {
	from := at(offset) // in mem, where the header begins
	n := min(int(o.w.head-offset), wire.Window-from, wire.MaxData)
	frame := o.mem[from : from+wire.HeaderSize+n]
	copy(o.w.saved[:], frame)
	atomic.StoreUint64(&o.w.hidden, uint64(from)+1)
	wire.Header{Type: t, Length: uint32(n), Number: number}.Put(frame)
	err := write(frame)
	o.uncover()
	return n, err
}

func (o *Output) uncover() {
	if o.w.hidden == 0 {
		return
	}
	copy(o.mem[o.w.hidden-1:], o.w.saved[:])
	atomic.StoreUint64(&o.w.hidden, 0)
}

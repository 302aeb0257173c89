package journal

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// inputWords are what the next daemon needs to know of the input of a process.
type inputWords struct {
	// How many bytes were taken, times two. The lowest bit says what is in the mover: 1:
	// the last of these; 0: what is not counted yet.
	taken uint64
	ended uint64 // 1: nothing more comes to the process
}

// Input is the way to the standard input of a process.
type Input struct {
	w     *inputWords
	mover mover
	held  int // bytes in the mover
}

func (i *Input) clear() { *i.w, i.held = inputWords{}, 0 }

// Taken returns how many bytes were taken: nobody else need keep them.
func (i *Input) Taken() uint64 { return atomic.LoadUint64(&i.w.taken) / 2 }

// Held returns how many bytes were put and not moved.
func (i *Input) Held() int { return i.held }

// Put takes as many bytes as there is room for; 0: only Move makes room.
func (i *Input) Put(data []byte) (int, error) {
	if i.held > 0 || len(data) == 0 {
		return 0, nil
	}
	n, err := unix.Write(i.mover.write, data)
	switch {
	case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("write to a mover: %w", err)
	}
	i.held = n
	i.count(n, 1)
	return n, nil
}

// count counts n more bytes as taken, and says what is in the mover.
func (i *Input) count(n int, phase uint64) {
	atomic.StoreUint64(&i.w.taken, (i.Taken()+uint64(n))*2+phase)
}

// Move moves what was put into a pipe, without waiting: EAGAIN says that some of it is
// left.
func (i *Input) Move(pipe int) error {
	for i.held > 0 {
		n, err := splice(i.mover.read, pipe, i.held)
		if err != nil {
			return err
		}
		if i.held -= n; i.held == 0 {
			i.count(0, 0)
		}
	}
	return nil
}

// End says that nothing more comes to the process.
func (i *Input) End() { atomic.StoreUint64(&i.w.ended, 1) }

// Ended reports whether End was called, by this daemon or a former one.
func (i *Input) Ended() bool { return atomic.LoadUint64(&i.w.ended) != 0 }

// resume brings what a daemon has left to where it would have come.
func (i *Input) resume() error {
	held, err := i.mover.held()
	if err != nil {
		return err
	}
	switch counted := i.w.taken&1 == 1; {
	case held > wire.MaxData || counted && uint64(held) > i.Taken() || i.w.ended > 1:
		return fmt.Errorf("%w: %d bytes of input in a mover, %d taken", ErrCorrupt, held, i.Taken())
	case !counted && held > 0: // it was killed before it counted them
		i.count(held, 1)
	case counted && held == 0:
		i.count(0, 0)
	}
	i.held = held
	return nil
}

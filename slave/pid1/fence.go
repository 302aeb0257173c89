package pid1

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
)

// fence keeps the space's cursor within the numbers of a block. From their end the cursor goes to
// the first number of another block of the node, or of the same one if there is no other, and the
// kernel passes over numbers in use. Beyond a block is a gap that is the node's, too, and then come
// numbers of other nodes.
//
// The daemon moves the cursor on to other numbers before that. But it can be away, or busy with
// births, and so can the goroutines of init. So a stand-in that does nothing else looks after the
// cursor (fencer), and waits for no other process. It looks whenever the kernel can have come to
// the end since the last look. The gap is for its delay on an overloaded machine. Space and fencer
// are frozen together, and thawed together: meanwhile no numbers are given.
//
// The daemon's orders come to the fencer through a pipe only: on an overloaded machine, every
// goroutine on the way would cost milliseconds in which the kernel gives numbers.
type fence struct {
	cursor uintptr // descriptor of the cursor
	orders uintptr // end of the pipe from which orders are read
	give   int     // end of the pipe that daemons get
	limits limits  // where the cursor is
	other  limits  // where it goes at the end; the same if there is no other
}

// limits are the numbers of a fence; end is the first number beyond; 0: there is no fence.
type limits struct{ first, end uint32 }

// fenceOrder is what a daemon writes into the pipe, in the machine's byte order. A field that is 0
// changes nothing.
type fenceOrder struct {
	next          uint32 // the number that the kernel must give next, or the first free one after it
	limits, other limits
}

const (
	// A space gives at most 40,000 numbers in a second: nanoseconds for one.
	timeOfNumber = 25_000
	fenceSoon    = 1_000_000   // nanoseconds between two looks, at least
	fenceBusy    = 100_000_000 // and at most, while numbers are given
	fenceRest    = 200_000_000 // and at most, while none are
	// fenceReserve is the part of the fence that is kept for lateness. The daemon acts before that,
	// at the latest when an eighth is left (package pidmap).
	fenceReserve = 16
)

// look decides what to do if last is the number that was given last, and before the one at the look
// before. It returns whether the cursor must go back, and the nanoseconds until the next look.
//
//go:nosplit
//go:norace
func (l *limits) look(last, before uint32) (back bool, rest int64) {
	edge := l.end - (l.end-l.first)/fenceReserve
	if last+1 < l.first || last >= edge {
		return true, fenceSoon
	}
	most := int64(fenceRest)
	if last != before {
		// Where most numbers are in use the kernel can be at the edge with the next number.
		most = min(fenceBusy, int64(l.end-edge+gap(l.end-l.first))*timeOfNumber/2)
	}
	return false, max(fenceSoon, min(most, int64(edge-last)*timeOfNumber))
}

// gap returns how many numbers behind a block of count numbers are the node's (pidmap.Gap).
//
//go:nosplit
//go:norace
func gap(count uint32) uint32 { return min(count/3, pidmap.MaxGap) }

// init opens the pipe.
func (f *fence) init(cursor uintptr) error {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return fmt.Errorf("pipe to who keeps the cursor: %w", err)
	}
	f.cursor, f.orders, f.give = cursor, uintptr(ends[0]), ends[1]
	return nil
}

func (f *fence) close() error { return errors.Join(unix.Close(int(f.orders)), unix.Close(f.give)) }

// fencerPause is the pause before a fencer that has ended is replaced.
const fencerPause = 5 * time.Millisecond

// keepFence keeps a fencer running, until the context ends.
func (in *Init) keepFence(ctx context.Context) error {
	for {
		s, err := in.standins.fencer(&in.fence)
		if err != nil {
			in.cfg.Log.Warn("nobody keeps the numbers of processes within their block", "err", err)
		} else {
			select {
			case <-s.over:
			case <-ctx.Done():
				return nil
			}
		}
		select {
		case <-time.After(fencerPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// fencer makes the stand-in that looks after the cursor.
func (t *standins) fencer(f *fence) (*sleeper, error) {
	t.making.Lock()
	defer t.making.Unlock()
	t.mu.Lock()
	home := t.sessions[initSession]
	t.mu.Unlock()
	s := t.newSleeper(0)
	s.session, s.fence, s.over = home, f, make(chan struct{})
	s.setUp = t.named(home)
	if err := t.bearBetweenZones(s); err != nil {
		return nil, fmt.Errorf("stand-in that looks after the cursor: %w", err)
	}
	return s, nil
}

// keep is the code of the fencer. The rules are those for child. It does not return.
//
//go:nosplit
//go:norace
func (f *fence) keep() {
	f.hurry()
	before, rest := ^uint32(0), int64(0)
	for {
		f.await(rest)
		f.take()
		if f.limits.end == 0 {
			rest = fenceRest
			continue
		}
		last, back := f.last(), false
		if back, rest = f.limits.look(last, before); back {
			f.limits, f.other = f.other, f.limits
			f.move(f.limits.first)
		}
		before = last
	}
}

// await waits for an order, for at most nanoseconds.
//
//go:nosplit
//go:norace
func (f *fence) await(nanoseconds int64) {
	limit := [2]int64{nanoseconds / 1e9, nanoseconds % 1e9} // struct timespec
	poll := unix.PollFd{Fd: int32(f.orders), Events: unix.POLLIN}
	_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}

// take carries out the orders in the pipe.
//
//go:nosplit
//go:norace
func (f *fence) take() {
	const size = unsafe.Sizeof(fenceOrder{})
	for {
		var o fenceOrder
		n, _, errno := syscall.RawSyscall6(unix.SYS_READ, f.orders, uintptr(unsafe.Pointer(&o)), size, 0, 0, 0)
		if errno != 0 || n != size {
			return
		}
		if o.limits.end != 0 {
			f.limits, f.other = o.limits, o.other
		}
		if o.next != 0 {
			f.move(o.next)
		}
	}
}

// move makes next the number that the kernel gives to the next process or thread of the space, or
// the first free one after it. The file has the last number given.
//
//go:nosplit
//go:norace
func (f *fence) move(next uint32) {
	var text [10]byte // of a number of 32 bits
	at := len(text)
	for n := next - 1; ; n /= 10 {
		at--
		text[at] = '0' + byte(n%10)
		if n < 10 {
			break
		}
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_PWRITE64, f.cursor, uintptr(unsafe.Pointer(&text[at])), uintptr(len(text)-at), 0, 0, 0)
}

// hurry has the fencer run before all threads that have a nice value, whatever it is, where the
// node allows it (sched(7)). The fencer takes microseconds at a time.
//
//go:nosplit
//go:norace
func (f *fence) hurry() {
	lowest := uint32(1) // struct sched_param
	_, _, _ = syscall.RawSyscall6(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO|unix.SCHED_RESET_ON_FORK, uintptr(unsafe.Pointer(&lowest)), 0, 0, 0)
}

// last returns the number that the kernel has given last; 0 if it does not say.
//
//go:nosplit
//go:norace
func (f *fence) last() (last uint32) {
	var text [16]byte
	n, _, errno := syscall.RawSyscall6(unix.SYS_PREAD64, f.cursor, uintptr(unsafe.Pointer(&text)), uintptr(len(text)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	for i := uintptr(0); i < n && i < uintptr(len(text)) && text[i] >= '0' && text[i] <= '9'; i++ {
		last = 10*last + uint32(text[i]-'0')
	}
	return last
}

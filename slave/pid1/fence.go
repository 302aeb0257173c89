package pid1

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// fence is the numbers between which the space's allocation cursor stays: it goes back to
// the first of them, and the kernel passes over those in use. Beyond them is a gap that
// is the node's too, and then come numbers of other nodes.
//
// The daemon moves the cursor on before, to other numbers. But it can be away, or busy
// with all that is born, and so can the goroutines of init. So a stand-in that does nothing
// else looks after the cursor (fencer), which waits for nobody. It looks whenever the
// kernel can have come to the end since it last did; how far that is behind, with a
// machine that has more to do than it can, the gap is for. Space and fencer are frozen
// together, and thawed together: meanwhile no numbers are given.
//
// The daemon and the fencer may put the cursor at the same time, as it goes from one block
// to another. At its next look, which is soon, the fencer sees the cursor outside of the
// new one, if the daemon's came first.
type fence struct {
	cursor uintptr    // descriptor of the cursor
	said   uint32     // how often limits were said; futex
	limits [8]limits  // the last are said modulo their number: those that are being read stay
	mu     sync.Mutex // held while limits are said
}

// limits are a fence, laid out for the fencer.
type limits struct {
	first, end uint32   // end is the first number beyond; 0: there is no fence
	text       [12]byte // puts the cursor at first
	length     uintptr  // of text
}

const (
	// A space gives not more than 40,000 numbers in a second: nanoseconds for one.
	timeOfNumber = 25_000
	fenceSoon    = 1_000_000   // nanoseconds between two looks at least
	fenceBusy    = 100_000_000 // and at most, while numbers are given
	fenceRest    = 200_000_000 // and at most, while none are
	// fenceReserve is which part of the fence is kept for lateness. The daemon acts
	// before, at the latest when an eighth is left (package pidmap).
	fenceReserve = 16
)

// look says what is to be done where last is the number that was given last, and before
// the one at the look before: whether the cursor is to go back, and how many nanoseconds
// there are to the next look.
//
//go:nosplit
//go:norace
func (l *limits) look(last, before uint32) (back bool, rest int64) {
	edge := l.end - (l.end-l.first)/fenceReserve
	if last+1 < l.first || last >= edge {
		return true, fenceSoon
	}
	most := int64(fenceBusy)
	if last == before {
		most = fenceRest
	}
	return false, max(fenceSoon, min(most, int64(edge-last)*timeOfNumber))
}

// say takes in where the cursor is to stay.
func (f *fence) say(first, end wire.PID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	said := f.said + 1
	l := &f.limits[said%uint32(len(f.limits))]
	*l = limits{first: uint32(first), end: uint32(end)}
	l.length = uintptr(copy(l.text[:], strconv.Itoa(int(first)-1)))
	store(&f.said, said)
	futexWake(&f.said, futexPrivate)
}

// setFence takes in what the daemon says.
func (in *Init) setFence(m *wire.InitFence) error {
	if m.End != 0 && (m.First < 2 || m.End <= m.First) {
		return fmt.Errorf("%w: fence from %d to %d", wire.ErrFrame, m.First, m.End)
	}
	in.fence.say(m.First, m.End)
	return nil
}

// fencerPause is waited before another fencer is made in the place of one that ended.
const fencerPause = 5 * time.Millisecond

// keepFence sees to it that there is a fencer.
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

// keep is what the fencer does. The rules are those for child. It does not return.
//
//go:nosplit
//go:norace
func (f *fence) keep() {
	f.hurry()
	before := ^uint32(0)
	for {
		said := load(&f.said)
		l := &f.limits[said%uint32(len(f.limits))]
		if l.end == 0 {
			futexWait(&f.said, said, futexPrivate)
			continue
		}
		last := f.last()
		back, rest := l.look(last, before)
		if back {
			_, _, _ = syscall.RawSyscall6(unix.SYS_PWRITE64, f.cursor, uintptr(unsafe.Pointer(&l.text)), l.length, 0, 0, 0)
		}
		before = last
		futexWaitFor(&f.said, said, rest)
	}
}

// hurry has the fencer run before all that has a nice value, however much that is, where
// the node allows it (sched(7)). It takes microseconds at a time.
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

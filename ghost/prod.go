package ghost

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// prodSignal ends a shard's wait for one ghost, so that the shard can look after the
// others. Nothing else means anything by it.
const prodSignal = unix.Signal(40)

// prodTime is how long a shard waits for one ghost, and no other: for once or twice this
// time. A ghost that runs stops within microseconds.
const prodTime = time.Millisecond

// prod is a timer of the kernel that interrupts the calls of a thread, again and again
// while it is armed: the call that is to be interrupted may not have begun.
type prod struct {
	made  bool
	armed bool
	id    int32
}

// sigevent is struct sigevent of timer_create(2).
type sigevent struct {
	value  uint64
	signal int32
	notify int32
	thread int32
	_      [11]int32
}

// interruptible has a signal end the calls that it comes in, and do nothing else. The
// runtime of Go has a handler for it that returns; it lets calls begin anew (SA_RESTART).
func interruptible(sig unix.Signal) error {
	const restart = 0x10000000
	var action kernelAction
	at := uintptr(unsafe.Pointer(&action))
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, at, unsafe.Sizeof(action.mask), 0, 0)
	if errno == 0 {
		action.flags &^= restart
		_, _, errno = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), at, 0, unsafe.Sizeof(action.mask), 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("handler of signal %d: %w", sig, errno)
	}
	return nil
}

// newProd returns the timer of the thread that it is called on.
func newProd() (prod, error) {
	const threadID = 4 // SIGEV_THREAD_ID
	var set unix.Sigset_t
	set.Val[(prodSignal-1)/64] = 1 << ((prodSignal - 1) % 64)
	if err := unix.PthreadSigmask(unix.SIG_UNBLOCK, &set, nil); err != nil {
		return prod{}, fmt.Errorf("unblock signal %d: %w", prodSignal, err)
	}
	event := sigevent{signal: int32(prodSignal), notify: threadID, thread: int32(unix.Gettid())}
	p := prod{made: true}
	_, _, errno := unix.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&p.id)))
	if errno != 0 {
		return prod{}, fmt.Errorf("timer of a shard: %w", errno)
	}
	return p, nil
}

// arm has calls of the thread be interrupted from now on. The timer stays armed until the
// thread is interrupted when it need not be: most ghosts stop before.
func (p *prod) arm() {
	if p.made && !p.armed {
		p.armed = true
		p.set(prodTime)
	}
}

func (p *prod) disarm() {
	if p.armed {
		p.armed = false
		p.set(0)
	}
}

func (p *prod) set(every time.Duration) {
	spec := unix.NsecToTimespec(every.Nanoseconds())
	setting := unix.ItimerSpec{Interval: spec, Value: spec}
	unix.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(p.id), 0, uintptr(unsafe.Pointer(&setting)), 0, 0, 0) // of a timer that is there, it does not fail
}

// remove ends the timer.
func (p *prod) remove() {
	if p.made {
		unix.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(p.id), 0, 0)
	}
}

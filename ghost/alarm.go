package ghost

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// alarmSignal interrupts waiting calls of a shard's thread. It has no other use.
const alarmSignal = unix.Signal(40)

// alarm is a kernel timer that interrupts the calls of a thread. It fires repeatedly while it is
// set, because the call to interrupt may not have begun.
type alarm struct {
	made   bool
	id     int32
	thread int
}

// sigevent is struct sigevent of timer_create(2).
type sigevent struct {
	value  uint64
	signal int32
	notify int32
	thread int32
	_      [11]int32
}

// interruptible makes a signal interrupt calls, and do nothing else. The Go runtime has a handler
// for it that returns, but installs it with SA_RESTART, which is removed here.
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

// newAlarm returns an alarm for the calling thread.
func newAlarm() (alarm, error) {
	const threadID = 4 // SIGEV_THREAD_ID
	var set unix.Sigset_t
	set.Val[(alarmSignal-1)/64] = 1 << ((alarmSignal - 1) % 64)
	if err := unix.PthreadSigmask(unix.SIG_UNBLOCK, &set, nil); err != nil {
		return alarm{}, fmt.Errorf("unblock signal %d: %w", alarmSignal, err)
	}
	a := alarm{made: true, thread: unix.Gettid()}
	event := sigevent{signal: int32(alarmSignal), notify: threadID, thread: int32(a.thread)}
	_, _, errno := unix.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&a.id)))
	if errno != 0 {
		return alarm{}, fmt.Errorf("timer of a shard: %w", errno)
	}
	return a, nil
}

// set interrupts calls after the first time, and then at an interval; a first time of 0 ends that.
func (a *alarm) set(first, every time.Duration) {
	setting := unix.ItimerSpec{Value: unix.NsecToTimespec(first.Nanoseconds()), Interval: unix.NsecToTimespec(every.Nanoseconds())}
	_, _, _ = unix.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(a.id), 0, uintptr(unsafe.Pointer(&setting)), 0, 0, 0) // cannot fail for an existing timer
}

// remove ends the timer.
func (a *alarm) remove() {
	if a.made {
		_, _, _ = unix.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(a.id), 0, 0) // cannot fail either
	}
}

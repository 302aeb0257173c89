package pid1

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
)

// waits bounds how many threads of init wait: each holds a place. A user can hold up a launch
// forever, by a named pipe that nobody opens, and the runtime may make another thread for each
// thread that waits. Where the tasks of the space are bounded and there is no room for it, that
// ends init, and with it all processes.
type waits chan struct{}

// Bounds on waiting. There are more threads made beforehand (StartThreads) than these and init's
// others.
const (
	waitingThreads = 8                      // for words of stand-ins and of new processes
	vforkThreads   = 2                      // for processes that init makes without a forker
	threadTime     = 20 * time.Millisecond  // that a thread waits for a word
	firstPause     = time.Millisecond       // between two looks at it without a thread
	lastPause      = 100 * time.Millisecond // the same, when that has taken long
)

func (w waits) take() bool {
	select {
	case w <- struct{}{}:
		return true
	default:
		return false
	}
}

func (w waits) leave() { <-w }

// until waits until a word has a final value, and returns it.
func (w waits) until(word *uint32, who uintptr, last func(uint32) bool) uint32 {
	for begin := time.Now(); ; {
		got := atomic.LoadUint32(word)
		if last(got) {
			return got
		}
		waited := time.Since(begin)
		if waited < threadTime && w.take() {
			limit := unix.NsecToTimespec((threadTime - waited).Nanoseconds())
			_, _, _ = longcall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait|who, uintptr(got), uintptr(unsafe.Pointer(&limit)), 0, 0)
			w.leave()
			continue
		}
		time.Sleep(min(max(waited/8, firstPause), lastPause))
	}
}

package supervise

import "golang.org/x/sys/unix"

// mostUrgent is the lowest nice value.
const mostUrgent = -20

// hurry has the calling thread, which must be locked to its goroutine, run before others, until the
// function that it returns is called. A signal that comes before a caller's notification was
// received ends the call with EINTR, which kill(2) never returns natively. From then on only death
// interrupts it (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, seccomp(2)). So that moment must be short,
// on a busy machine, too.
//
// The thread is not made a real-time thread: Go's runtime may spin for a lock of a thread that a
// real-time thread keeps from running.
func hurry() (restore func()) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less the nice value, getpriority(2)
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, 0, mostUrgent) != nil {
		return func() {} // EACCES: without CAP_SYS_NICE it comes later
	}
	return func() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-raw) }
}

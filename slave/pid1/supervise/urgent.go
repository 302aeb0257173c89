package supervise

import "golang.org/x/sys/unix"

// mostUrgent is the lowest nice value.
const mostUrgent = -20

// hurry has the calling thread, which must be locked to its goroutine, run before others,
// until the function that it returns is called. A caller that a signal finds before its
// notification was received ends its call with EINTR, which kill(2) never does natively;
// from then on only death interrupts it (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
// seccomp(2)). So that moment is to be short, on a busy machine too.
//
// It is not made a real-time thread: Go's runtime may spin for a lock of a thread that such
// a one would keep from running.
func hurry() (restore func()) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less the nice value, getpriority(2)
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, 0, mostUrgent) != nil {
		return func() {} // EACCES: without CAP_SYS_NICE it is slower to come
	}
	return func() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-raw) }
}

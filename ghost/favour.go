package ghost

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Policies of sched(7) under which a process may not run for long, or cannot fork.
const (
	schedOther    = 0
	schedIdle     = 5
	schedDeadline = 6
)

// ownProcessors returns the processors that the keeper may run on.
var ownProcessors = sync.OnceValue(func() (on unix.CPUSet) {
	_ = unix.SchedGetaffinity(0, &on) // on error it is empty, and ghosts' affinities differ from it
	return on
})

// favour lets a ghost run as soon as others do, because the keeper waits for it. The ghost keeps
// its nice value, which is its process's, and its control group, by which the manager of the user's
// processes ends, bounds and freezes them.
func favour(pid wire.PID) {
	policy, _, _ := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(pid), 0, 0)
	const resetOnFork = 1 << 30
	if policy &^= resetOnFork; policy == schedIdle || policy == schedDeadline {
		var priority int32 // struct sched_param
		// If this fails, the ghost is only slower.
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), schedOther, uintptr(unsafe.Pointer(&priority)))
	}
	var on, all unix.CPUSet
	if unix.SchedGetaffinity(int(pid), &on) == nil && on != ownProcessors() {
		all.Fill() // its cpuset still holds
		_ = unix.SchedSetaffinity(int(pid), &all)
	}
}

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

// ownProcessors are those that the keeper may run on.
var ownProcessors = sync.OnceValue(func() (on unix.CPUSet) {
	_ = unix.SchedGetaffinity(0, &on) // none: ghosts' are not what they should be
	return on
})

// favour has a ghost run when others do: it is the keeper that waits for it. Its nice
// value stays, which is its process's, and its control group, by which whoever manages
// the user's processes ends, bounds and freezes them.
func favour(pid wire.PID) {
	policy, _, _ := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(pid), 0, 0)
	const resetOnFork = 1 << 30
	if policy &^= resetOnFork; policy == schedIdle || policy == schedDeadline {
		var priority int32 // struct sched_param
		// If it fails, the ghost is only slower.
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), schedOther, uintptr(unsafe.Pointer(&priority)))
	}
	var on, all unix.CPUSet
	if unix.SchedGetaffinity(int(pid), &on) == nil && on != ownProcessors() {
		all.Fill() // its cpuset still holds
		_ = unix.SchedSetaffinity(int(pid), &all)
	}
}

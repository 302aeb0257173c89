// Package defaultaction gives signals the default actions that the kernel has for them. os/signal
// does not: the Go runtime leaves its own handler in place, which passes over SIGTSTP, and prints
// the stacks of all goroutines for SIGQUIT.
package defaultaction

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// action has room for the kernel's struct sigaction on all machines. Zeros are SIG_DFL.
type action [8]uintptr

// Set sets the action of a signal to the default and returns a function that sets the former one.
func Set(sig unix.Signal) (restore func()) {
	var former action
	change(sig, new(action), &former)
	return func() { change(sig, &former, nil) }
}

func change(sig unix.Signal, to, former *action) {
	const size = 8 // of the kernel's sigset_t
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(former)), size, 0, 0)
}

// Take has this process take the default action of a signal. It returns when the process
// continues after a stop, or if the action is none.
func Take(sig unix.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer Set(sig)()
	// A thread gets a signal to itself before the call returns.
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), sig)
}

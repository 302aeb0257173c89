package cluster

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f in a goroutine on a thread of its own, which ends with f: f
// may take it into other namespaces.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return // locked still: the thread ends
		}
		// The main thread never ends. This goroutine keeps it until another
		// has got another one.
		started := make(chan struct{})
		onThread(func() {
			close(started)
			f()
		})
		<-started
		runtime.UnlockOSThread()
	}()
}

// Package ownthread runs functions that change the calling thread for good: its namespaces or its
// system call filter.
package ownthread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Do calls f on its own thread, which ends with f. It is never the main thread, which does not end
// before the process, and whose namespaces /proc/self shows as those of the process.
func Do(f func() error) error {
	result := make(chan error, 1)
	Go(func() { result <- f() })
	return <-result
}

// Go is Do without waiting for f.
func Go(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return // still locked, so the thread ends
		}
		// This goroutine holds the main thread until the next one has another thread.
		started := make(chan struct{})
		Go(func() {
			close(started)
			f()
		})
		<-started
		runtime.UnlockOSThread()
	}()
}

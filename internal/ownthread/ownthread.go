// Package ownthread is for what changes the calling thread for good: its namespaces, or its
// filter of system calls.
package ownthread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Do calls f on a thread of its own, which ends with f. It is never the main thread: that
// does not end before the process, and /proc/self shows its namespaces as those of all.
func Do(f func() error) error {
	result := make(chan error, 1)
	Go(func() { result <- f() })
	return <-result
}

// Go does so without waiting for f.
func Go(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return // locked still: the thread ends
		}
		// This goroutine keeps the main thread until another has got another one.
		started := make(chan struct{})
		Go(func() {
			close(started)
			f()
		})
		<-started
		runtime.UnlockOSThread()
	}()
}

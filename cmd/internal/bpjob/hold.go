package bpjob

import (
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// holdSignals keeps signals from ending the command between the end of a process and its next start: it would stay
// stopped, though nobody wanted that. release has one that came meanwhile act; it may be called again.
func holdSignals() (release func()) {
	came := make(chan os.Signal, 1)
	held := []os.Signal{unix.SIGINT, unix.SIGTERM}
	if !signal.Ignored(unix.SIGHUP) { // nohup(1)
		held = append(held, unix.SIGHUP)
	}
	signal.Notify(came, held...)
	return sync.OnceFunc(func() {
		signal.Stop(came)
		select {
		case s := <-came:
			_ = unix.Kill(os.Getpid(), s.(unix.Signal)) // it acts as it would have
		default:
		}
	})
}

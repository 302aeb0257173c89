package bpjob

import (
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// holdSignals holds back signals that would end the command between the end of a process and its next start: the
// process would stay stopped, which nobody asked for. release delivers a signal that came meanwhile; it may be
// called again.
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

package bpsh

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// signals is what bpsh does about the signals it gets.
//
//	SIGINT, SIGQUIT  the terminal gave them to the ghosts too: wait for those
//	SIGTERM, SIGHUP  sent to bpsh: passed on to the ghosts
//	SIGTSTP and all others keep their default action
//
// Each also ends the starts that are under way.
type signals struct {
	mu   sync.Mutex
	got  []unix.Signal
	jobs []*job // that run
}

// signalError is the cause for a start that was given up.
type signalError unix.Signal

func (e signalError) Error() string { return fmt.Sprintf("caught %v", unix.Signal(e)) }

// watchAfter is how long signals keep their default actions. To catch them
// costs two threads, a fifth of what it takes to run /bin/true on a node. A
// bpsh that is ended before hangs up its processes, as one ended by SIGKILL
// does at any time.
const watchAfter = 20 * time.Millisecond

// watch begins to catch signals, but for those that bpsh was started with as
// ignored. The caller calls stop to end it.
func (s *signals) watch(cancel context.CancelCauseFunc) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	timer := time.AfterFunc(watchAfter, func() {
		defer close(ended)
		s.catch(cancel, quit)
	})
	return func() {
		if timer.Stop() {
			return
		}
		close(quit)
		<-ended
	}
}

// catch takes signals until quit is closed.
func (s *signals) catch(cancel context.CancelCauseFunc, quit <-chan struct{}) {
	incoming := make(chan os.Signal, 8)
	defer signal.Stop(incoming)
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(incoming, sig)
		}
	}
	for {
		select {
		case sig := <-incoming:
			cancel(signalError(sig.(unix.Signal)))
			s.take(sig.(unix.Signal))
		case <-quit:
			return
		}
	}
}

// take handles a signal.
func (s *signals) take(sig unix.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, sig)
	for _, j := range s.jobs {
		pass(j, sig)
	}
}

// started adds a job that runs. It gets the signals that came while it was
// being started.
func (s *signals) started(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, j)
	for _, sig := range s.got {
		pass(j, sig)
	}
}

// pass passes a signal on to a ghost. It may have ended; that is no error.
func pass(j *job, sig unix.Signal) {
	if sig == unix.SIGTERM || sig == unix.SIGHUP {
		_ = j.cmd.Signal(sig)
	}
}

// giveUp restores the default actions: when the master is gone, the ghosts that
// are left may not end, and bpsh must not be stuck with them.
func giveUp() { signal.Reset(unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP) }

// caught reports whether bpsh got a signal.
func (s *signals) caught(sig unix.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.got {
		if got == sig {
			return true
		}
	}
	return false
}

// die ends this process with a signal's default action. The signal is for this
// thread, which has it before the call returns.
func die(sig unix.Signal) {
	runtime.LockOSThread()
	signal.Reset(sig)
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), sig)
}

package bpsh

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/terminal"
)

// signals is what bpsh does about the signals it gets.
//
//	SIGINT, SIGQUIT  the terminal gave them to the ghosts too: wait for those
//	SIGTERM, SIGHUP, SIGUSR1, SIGUSR2
//	                 sent to bpsh: passed on to the ghosts; batch systems warn by them
//	SIGTSTP          to bprsh: stops its command, too
//	all others have the action that Go gives them, by default that of the kernel
//
// Each but SIGUSR1 and SIGUSR2 also ends the starts that are under way. The ghosts of bprsh,
// and those whose commands have terminals, are in sessions of their own: see passAsAgent
// and onTerminal.
type signals struct {
	mu    sync.Mutex
	got   []unix.Signal
	jobs  []*job // that run
	stuck bool   // nothing is waited for that is sure to come

	agent    bool               // bprsh
	terminal *terminal.Terminal // of the user, while commands have one
	left     bool               // the commands have been left to themselves
	why      unix.Signal        // by this signal; 0: by the user
	leaving  chan struct{}      // closed then
}

// signalError is the cause for a start that was given up.
type signalError unix.Signal

func (e signalError) Error() string { return "caught " + signalName(int(e)) }

// CatchAfter is how long a bpsh started from the command line leaves signals
// their default actions. To catch them costs two threads, a fifth of what it
// takes to run /bin/true on a node. A bpsh that is ended before hangs up its
// processes, as one ended by SIGKILL does at any time.
const CatchAfter = 20 * time.Millisecond

// catchAfter returns when to begin to catch signals: at once where a person may
// press a key, who does not notice the cost.
func (s *Shell) catchAfter() time.Duration {
	if atTerminal() {
		return 0
	}
	return s.CatchAfter
}

// atTerminal reports whether one of the standard descriptors is a terminal.
func atTerminal() bool {
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			return true
		}
	}
	return false
}

// caught are the signals that bpsh catches.
var caught = []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2}

// watch begins to catch signals after a time. The caller calls stop to end it.
func (s *signals) watch(after time.Duration, cancel context.CancelCauseFunc) (stop func()) {
	w := &watch{signals: s, cancel: cancel, quit: make(chan struct{}), ended: make(chan struct{})}
	if after == 0 {
		w.catch()
		go w.run()
		return w.stop
	}
	timer := time.AfterFunc(after, func() {
		w.catch()
		w.run()
	})
	return func() {
		if !timer.Stop() {
			w.stop()
		}
	}
}

// watch is the goroutine that gets the signals.
type watch struct {
	signals  *signals
	caught   []os.Signal
	incoming chan os.Signal
	cancel   context.CancelCauseFunc
	quit     chan struct{}
	ended    chan struct{}
}

// catch begins to catch, but for signals that bpsh was started with as ignored.
func (w *watch) catch() {
	w.incoming = make(chan os.Signal, 8)
	for _, sig := range w.signals.also(caught) {
		if !signal.Ignored(sig) {
			w.caught = append(w.caught, sig)
			signal.Notify(w.incoming, sig)
		}
	}
}

func (w *watch) run() {
	defer close(w.ended)
	for {
		select {
		case sig := <-w.incoming:
			if ends(sig.(unix.Signal)) {
				w.cancel(signalError(sig.(unix.Signal)))
			}
			w.take(sig.(unix.Signal))
		case <-w.quit:
			w.settle()
			w.drain()
			return
		}
	}
}

// settle waits until what was caught so far is in the channel, as signal.Stop does for
// any channel. The signals need not get their actions back before bpsh ends, each of
// which would cost several changes of threads.
func (w *watch) settle() {
	if len(w.caught) == 0 {
		return
	}
	other := make(chan os.Signal, 1)
	signal.Notify(other, w.caught[0])
	signal.Stop(other)
}

// drain takes what came before the end: it matters whether bpsh was interrupted.
func (w *watch) drain() {
	for {
		select {
		case sig := <-w.incoming:
			w.take(sig.(unix.Signal))
		default:
			return
		}
	}
}

func (w *watch) stop() {
	close(w.quit)
	<-w.ended
}

// ends reports whether a signal asks for the end.
func ends(sig unix.Signal) bool {
	return sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGTERM || sig == unix.SIGHUP
}

// take handles a signal.
func (w *watch) take(sig unix.Signal) {
	s := w.signals
	switch sig {
	case unix.SIGTSTP:
		s.stop(w.incoming)
		return
	case unix.SIGWINCH, unix.SIGCONT, unix.SIGPIPE:
		s.changed(sig)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, sig)
	for _, j := range s.jobs {
		s.passLocked(j, sig)
	}
	if s.stuck && ends(sig) {
		s.terminal.Close()
		die(sig)
	}
}

// started adds a job that runs. It gets the signals that came while it was
// being started, and the size that the terminal has by now.
func (s *signals) started(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, j)
	if s.terminal != nil && j.cmd.Terminal != nil {
		if size := s.terminal.Size(); size != j.cmd.Terminal.Size {
			j.cmd.Resize(size)
		}
	}
	for _, sig := range s.got {
		s.passLocked(j, sig)
	}
}

// passLocked passes a signal on to a ghost. It may have ended; that is no error.
func (s *signals) passLocked(j *job, sig unix.Signal) {
	if j.cmd.Terminal != nil && ends(sig) {
		s.leaveLocked(sig)
		return
	}
	if s.agent && j.cmd.Session {
		// Soon SIGKILL may follow, and there is nobody to see to other groups. On a node there is
		// none here whose processes are on another.
		if !ends(sig) || !toSession(j.cmd.PID, sig) {
			_ = unix.Kill(-int(j.cmd.PID), sig)
		}
		return
	}
	switch sig {
	case unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2:
		_ = j.cmd.Signal(sig)
	}
}

// giveUp lets the next signal end bpsh: when the master is gone, the ghosts that
// are left may not end, and bpsh must not be stuck with them.
func (s *signals) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = true
}

// has reports whether bpsh got a signal.
func (s *signals) has(sig unix.Signal) bool {
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

package bpsh

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/defaultaction"
	"bproc/cmd/internal/terminal"
)

// signals handles the signals that bpsh gets.
//
//	SIGINT, SIGQUIT  the terminal sent them to the ghosts too: wait for the ghosts
//	SIGTERM, SIGHUP, SIGUSR1, SIGUSR2
//	                 passed on to the ghosts; batch systems use them as warnings
//	SIGTSTP          bprsh only: stops its command, too
//	all others keep the action of the Go runtime, by default that of the kernel
//
// All of them but SIGUSR1 and SIGUSR2 also end the starts that are under way. The ghosts of bprsh,
// and of commands with terminals, lead POSIX sessions: see sessions.go.
type signals struct {
	mu    sync.Mutex
	got   []unix.Signal
	jobs  []*job // that have started
	stuck bool   // ghosts may never end: the next signal ends bpsh

	agent    bool               // bprsh
	terminal *terminal.Terminal // of the user, while commands have one
	left     bool               // the commands have been left to themselves
	why      unix.Signal        // by this signal; 0: by the user
	leaving  chan struct{}      // closed then
}

// signalError is the cause of a start that was given up.
type signalError unix.Signal

func (e signalError) Error() string { return "caught " + signalName(int(e)) }

// CatchAfter is how long a bpsh started from the command line leaves signals their default actions.
// Catching them costs two threads, a fifth of the time to run /bin/true on a node. The processes of
// a bpsh that is ended earlier are hung up, as those of a bpsh ended by SIGKILL at any time.
const CatchAfter = 20 * time.Millisecond

// catchAfter returns the delay before signals are caught. At a terminal, where a person may press a
// key and does not notice the cost, it is zero.
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

// caught lists the signals that bpsh always catches.
var caught = []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2}

// watch starts to catch signals after a delay. The caller must call stop.
func (s *signals) watch(after time.Duration, cancel context.CancelCauseFunc) (stop func()) {
	w := &watch{signals: s, cancel: cancel, quit: make(chan struct{}), ended: make(chan struct{})}
	if after == 0 {
		w.catch()
		go w.run()
		return w.stop
	}
	restore := defaultaction.Set(unix.SIGQUIT) // until then: the runtime catches it from the start
	timer := time.AfterFunc(after, func() {
		w.catch()
		restore()
		w.run()
	})
	return func() {
		if !timer.Stop() {
			w.stop()
		}
	}
}

// watch is the goroutine that receives the signals.
type watch struct {
	signals  *signals
	caught   []os.Signal
	incoming chan os.Signal
	cancel   context.CancelCauseFunc
	quit     chan struct{}
	ended    chan struct{}
}

// catch starts to catch signals, except those that were ignored when bpsh was started.
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

// settle waits until all signals so far are in the channel, as signal.Stop does for any channel. It
// does not restore the actions of all signals, which bpsh does not need before it ends: each would
// cost several thread switches.
func (w *watch) settle() {
	if len(w.caught) == 0 {
		return
	}
	other := make(chan os.Signal, 1)
	signal.Notify(other, w.caught[0])
	signal.Stop(other)
}

// drain handles the signals that came before the end: an interrupt determines how bpsh ends.
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

// ends reports whether a signal asks a process to end.
func ends(sig unix.Signal) bool {
	return sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGTERM || sig == unix.SIGHUP
}

// take handles a signal.
func (w *watch) take(sig unix.Signal) {
	s := w.signals
	switch sig {
	case unix.SIGTSTP:
		s.stop()
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
		defaultaction.Take(sig)
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

// passLocked passes a signal on to a ghost, which may have ended.
func (s *signals) passLocked(j *job, sig unix.Signal) {
	if j.cmd.Terminal != nil && ends(sig) {
		s.leaveLocked(sig)
		return
	}
	if s.agent && j.cmd.Session {
		// SIGKILL may follow soon, and nothing else would reach the session's other process groups.
		// On a node, this machine's /proc has no processes of a session on another node.
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

// giveUp lets the next signal end bpsh: without the master, the remaining ghosts may never end.
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

package bpsh

import (
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/procstat"
)

// The ghosts of bprsh, and of commands with terminals, lead sessions: what this terminal
// sends does not reach them, and what this command gets is for the whole session.

// also adds the signals that are caught for the sake of such ghosts.
func (s *signals) also(caught []os.Signal) []os.Signal {
	switch {
	case s.terminal != nil:
		// SIGPIPE: not to die with the terminal raw.
		return append(slices.Clone(caught), unix.SIGWINCH, unix.SIGCONT, unix.SIGPIPE)
	case s.agent:
		return append(slices.Clone(caught), unix.SIGTSTP)
	}
	return caught
}

// changed takes in that the terminal may be another.
func (s *signals) changed(sig unix.Signal) {
	if sig == unix.SIGPIPE {
		return
	}
	if sig == unix.SIGCONT {
		s.terminal.Resume()
	}
	s.resize()
}

// resize gives the terminals of the commands the size of this one.
func (s *signals) resize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := s.terminal.Size() // not before: what is set last must be what it is now
	for _, j := range s.jobs {
		j.cmd.Resize(size)
	}
}

// stop stops the sessions of the commands, and then this process, if its group can be
// stopped at all; and has them go on when that does.
func (s *signals) stop(incoming chan<- os.Signal) {
	s.toSessions(unix.SIGSTOP)
	runtime.LockOSThread()
	signal.Reset(unix.SIGTSTP)
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGTSTP) // returns when it goes on
	signal.Notify(incoming, unix.SIGTSTP)
	runtime.UnlockOSThread()
	s.toSessions(unix.SIGCONT)
}

func (s *signals) toSessions(sig unix.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.cmd.Session {
			_ = unix.Kill(-int(j.cmd.PID), sig)
		}
	}
}

// leave leaves the commands to themselves: their terminals hang up.
func (s *signals) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked(0)
}

func (s *signals) leaveLocked(why unix.Signal) {
	if !s.left {
		s.left, s.why = true, why
		close(s.leaving)
	}
	for _, j := range s.jobs {
		j.cmd.Leave()
	}
}

// hasLeft reports whether the commands have been left to themselves, and by what signal.
func (s *signals) hasLeft() (why unix.Signal, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why, s.left
}

// hangUpRest sends SIGHUP to what is left of the session of a command of bprsh that has
// ended after bprsh was told to end: such as jobs in groups of their own.
func (s *signals) hangUpRest(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agent && j.cmd.Session && slices.ContainsFunc(s.got, ends) {
		toSession(j.cmd.PID, unix.SIGHUP, unix.SIGCONT)
	}
}

// toSession sends signals to all processes of a session, to their ghosts, and reports whether there
// are any here.
func toSession(sid client.PID, signals ...unix.Signal) (found bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // ended meanwhile
		}
		if s, ok := procstat.Stat(stat).Int(procstat.Session); ok && client.PID(s) == sid {
			found = true
			for _, sig := range signals {
				_ = unix.Kill(pid, sig)
			}
		}
	}
	return found
}

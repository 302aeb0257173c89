package bpsh

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/defaultaction"
	"bproc/internal/client"
	"bproc/internal/procstat"
)

// The ghosts of bprsh, and of commands with terminals, lead POSIX sessions. So signals of this
// terminal do not reach them, and signals to this command go to their whole sessions.

// also adds the signals that are caught for such ghosts.
func (s *signals) also(caught []os.Signal) []os.Signal {
	switch {
	case s.terminal != nil:
		// SIGPIPE must not end bpsh while the terminal is raw.
		return append(slices.Clone(caught), unix.SIGWINCH, unix.SIGCONT, unix.SIGPIPE)
	case s.agent:
		return append(slices.Clone(caught), unix.SIGTSTP)
	}
	return caught
}

// changed handles signals after which the terminal may have another size or mode.
func (s *signals) changed(sig unix.Signal) {
	if sig == unix.SIGPIPE {
		return
	}
	if sig == unix.SIGCONT {
		s.terminal.Resume()
	}
	s.resize()
}

// resize gives the commands' terminals the size of the user's.
func (s *signals) resize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := s.terminal.Size() // not before: what is set last must be what it is now
	for _, j := range s.jobs {
		j.cmd.Resize(size)
	}
}

// stop stops the sessions of the commands and then this process, unless its process group is
// orphaned, in which case SIGTSTP has no effect. When this process continues, the sessions do too.
func (s *signals) stop() {
	s.toSessions(unix.SIGSTOP)
	defaultaction.Take(unix.SIGTSTP) // returns after SIGCONT
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

// leave disconnects from the commands: their terminals hang up.
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

// hasLeft reports whether bpsh has disconnected from the commands, and for which signal.
func (s *signals) hasLeft() (why unix.Signal, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why, s.left
}

// hangUpRest sends SIGHUP to the rest of the session, such as jobs in their own process groups, of
// a bprsh command that ended after a signal told bprsh to end.
func (s *signals) hangUpRest(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agent && j.cmd.Session && slices.ContainsFunc(s.got, ends) {
		toSession(j.cmd.PID, unix.SIGHUP, unix.SIGCONT)
	}
}

// toSession sends signals to all processes of a session, by their ghosts, and reports whether it
// found any on this machine.
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
			continue // it has ended
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

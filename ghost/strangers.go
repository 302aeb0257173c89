package ghost

import (
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Strangers are processes that the shard has seized and that are no ghosts: the number
// passed to another process in that moment. One may be in the midst of anything, so it is
// let go of when it stops, and what it has made since is, too. They get all their signals.

// letGo has a stranger stop. Whatever stops it first does as well.
func (s *shard) letGo(pid wire.PID) {
	s.strangers[pid] = true
	_ = resume(unix.PTRACE_INTERRUPT, pid, 0) // or it has ended, and is seen to
}

// dropStranger is for one that has stopped or ended.
func (s *shard) dropStranger(pid wire.PID, status unix.WaitStatus) {
	delete(s.strangers, pid)
	if !status.Stopped() {
		return
	}
	sig := unix.Signal(0)
	if st := stopOf(status); st.event == 0 {
		sig = st.signal
	}
	// ESRCH: SIGKILL has taken it from its stop, and it stops once more at its exit.
	if err := resume(unix.PTRACE_DETACH, pid, sig); err == nil {
		s.log.Warn("a process that is no ghost is let go of", "pid", pid)
	}
}

// awaitStranger waits until a ghost that is to be seized is no stranger any more, as one
// whose number another user's request has named.
func (s *shard) awaitStranger(g *held) error {
	for s.strangers[g.pid] {
		if s.worker == nil {
			return unix.EAGAIN
		}
		if err := s.park(0, g.tree, time.Now().Add(tickTime)); err != nil {
			return err
		}
		if s.worker.request.answered {
			return unix.EAGAIN
		}
	}
	return nil
}

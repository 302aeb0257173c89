package ghost

import (
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Strangers are processes that the shard has seized and that are not ghosts, because the number
// passed to another process at that moment. A stranger may be in the middle of anything, so it is
// released when it stops, and so are the processes that it has made since. It gets all its signals.

// letGo makes a stranger stop. Any other stop serves as well.
func (s *shard) letGo(pid wire.PID) {
	s.strangers[pid] = true
	_ = resume(unix.PTRACE_INTERRUPT, pid, 0) // or it has ended, and is handled
}

// dropStranger handles a stranger that has stopped or ended.
func (s *shard) dropStranger(pid wire.PID, status unix.WaitStatus) {
	delete(s.strangers, pid)
	if !status.Stopped() {
		return
	}
	sig := unix.Signal(0)
	if st := stopOf(status); st.event == 0 {
		sig = st.signal
	}
	// ESRCH: SIGKILL has taken it from its stop, and it will stop again at its exit.
	if err := resume(unix.PTRACE_DETACH, pid, sig); err == nil {
		s.log.Warn("a process that is no ghost is let go of", "pid", pid)
	}
}

// awaitStranger waits until the process that is to be seized is no longer a stranger. It may be one
// because another user's request has named its number.
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

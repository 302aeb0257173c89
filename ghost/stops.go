package ghost

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// ghostStopped handles a stop or the end of a ghost that nothing is being done
// with. See ptrace(2), "Stopped states".
func (s *shard) ghostStopped(g *held, status unix.WaitStatus) {
	if status.Exited() || status.Signaled() {
		s.gone(g, status)
		return
	}
	switch st := stopOf(status); st.event {
	case 0:
		s.deliver(g, unix.PTRACE_CONT)
	case unix.PTRACE_EVENT_EXIT:
		s.exiting(g)
	case unix.PTRACE_EVENT_STOP:
		s.eventStop(g, st)
	default:
		_ = resume(unix.PTRACE_CONT, g.pid, 0)
	}
}

func (s *shard) gone(g *held, status unix.WaitStatus) {
	s.remove(g)
	s.events.put(0, &wire.GhostGone{PID: g.pid, Asked: g.asked, Status: wire.Status(status)})
}

// exiting handles a ghost on its last way. One that is to end goes on. Another
// has got SIGKILL, the only thing that ends a ghost in the hands of its keeper:
// it is held here, keeps its number, and is no zombie yet, until its process is
// dead.
func (s *shard) exiting(g *held) {
	if g.asked {
		_ = resume(unix.PTRACE_CONT, g.pid, 0)
		return
	}
	if g.killed {
		return
	}
	g.killed = true
	s.owners.kill(g.pid)
	s.report(g, signalInfo(unix.SIGKILL, siUser))
}

// eventStop handles a group stop, its end, or the first stop of a new ghost.
func (s *shard) eventStop(g *held, st stop) {
	stopping := g.stopping
	g.stopping = false
	if stopSignal(st.signal) && !g.asked {
		g.stopped = true
		_ = resume(unix.PTRACE_LISTEN, g.pid, 0)
		return
	}
	g.stopped = false
	if stopping && !g.asked {
		_ = s.mark.send(g.pid, unix.SIGSTOP)
	}
	_ = resume(unix.PTRACE_CONT, g.pid, 0)
}

// deliver handles a ghost that is about to get a signal. The signal is reported
// and has no effect on the ghost, unless the keeper itself sent it. how is the
// ptrace request by which the ghost goes on.
func (s *shard) deliver(g *held, how int) {
	info, err := getSiginfo(g.pid)
	if err != nil {
		return // killed meanwhile; the next stop tells
	}
	sig := info.signal()
	switch {
	case s.mark.own(info):
		if sig == unix.SIGCONT {
			sig = 0 // it has had its effect when it was sent
		}
		_ = resume(how, g.pid, sig)
		if stopSignal(sig) && sig != unix.SIGSTOP {
			// The kernel drops it if the ghost's group is orphaned. The next stop shows
			// whether it has; then SIGSTOP, which it never drops, does the same.
			g.stopping = true
			_ = resume(unix.PTRACE_INTERRUPT, g.pid, 0)
		}
		return
	case sig == unix.SIGALRM && info.code() == siKernel:
		// The alarm that the image sets for a ghost that nobody adopts.
	case sig == unix.SIGCHLD && info.code() > 0:
		// The end of a child on the front end: the kernel's business.
	default:
		s.report(g, info)
	}
	_ = resume(how, g.pid, 0)
}

func (s *shard) report(g *held, info *siginfo) {
	s.events.put(0, &wire.GhostSignal{PID: g.pid, Info: info[:]})
}

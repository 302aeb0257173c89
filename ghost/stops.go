package ghost

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// ghostStopped handles a stop or the end of a ghost that is not being driven. See ptrace(2),
// "Stopped states".
func (s *shard) ghostStopped(g *held, status unix.WaitStatus) {
	if status.Exited() || status.Signaled() {
		s.gone(g, status)
		return
	}
	switch st := stopOf(status); st.event {
	case 0:
		s.deliver(g)
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
	s.events.gone(&wire.GhostGone{PID: g.pid, Asked: g.asked, Status: wire.Status(status)})
}

// exiting handles a ghost in the stop at its exit. A ghost that is to end goes on. Any other has
// got SIGKILL, the only signal that ends a ghost that is traced: it is held here until its process
// is dead. It keeps its number, and is not yet a zombie.
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
	s.seeStop(g, st)
	if g.stopped && !g.asked {
		_ = goOn(unix.PTRACE_LISTEN, g.pid, 0)
		return
	}
	_ = goOn(unix.PTRACE_CONT, g.pid, 0)
}

// seeStop records from an event stop whether the ghost is in a group stop. If it is not though a
// stop signal was delivered, the kernel has dropped that, see stopHere.
func (s *shard) seeStop(g *held, st stop) {
	g.fresh = false
	stopping := g.stopping
	if stopped := stopSignal(st.signal); stopped != g.stopped {
		g.stopped = stopped
		s.owners.stop(g.pid, stopped)
	}
	g.stopping = 0
	if !g.stopped && stopping != 0 && stopping != unix.SIGSTOP && !g.asked {
		g.toStop = unix.SIGSTOP
		_ = s.sendMark(g)
	}
}

// deliver handles a ghost in the stop before a signal is delivered.
func (s *shard) deliver(g *held) {
	info := signalAt(g.pid)
	if info == nil {
		return
	}
	if s.isMark(g, info) && !g.asked {
		g.plain = g.plain && s.mark.own(info)
		s.stopHere(g)
		return
	}
	_ = goOn(unix.PTRACE_CONT, g.pid, s.heed(g, info))
}

// heed reports a signal that a ghost is about to get, and returns the signal to deliver instead:
// none, unless the keeper itself has sent it.
func (s *shard) heed(g *held, info *siginfo) unix.Signal {
	sig := info.signal()
	switch {
	case sig == unix.SIGCONT && (s.mark.own(info) || g.continued && info.lost()):
		g.continued = false // it had its effect when it was sent
	case s.mark.own(info):
		return sig
	case g.owed > 0 && said(info, g.pid):
		g.owed--
	case sig == unix.SIGALRM && info.code() == siKernel:
		// The alarm that the image sets in case the ghost is not adopted.
	case s.groupOrphaned(g, info):
		// The kernel of the process space does this for the process; here ghosts may stop, continue
		// and end in another order. So a ghost that continues by this signal, though its process is
		// stopped, is stopped again.
		if sig == unix.SIGCONT && g.halts && !g.asked {
			g.toStop = unix.SIGSTOP
			_ = s.sendMark(g)
		}
	case sig == unix.SIGCHLD && info.code() > 0:
		// The end of a child on the front end, which concerns only the kernel.
	default:
		s.report(g, info)
	}
	return 0
}

// groupOrphaned reports whether a signal says that a group was orphaned while a member was stopped
// (kill_orphaned_pgrp of kernel/exit.c).
func (s *shard) groupOrphaned(g *held, info *siginfo) bool {
	sig := info.signal()
	return (sig == unix.SIGHUP || sig == unix.SIGCONT) && info.code() == siKernel && s.remoteGroup(g.pid)
}

// stopHere delivers the signal that is to stop a ghost in place of the mark. A SIGCONT that comes
// before the ghost has stopped cancels it, as it should. The kernel drops a stop signal of a
// terminal if the ghost's group is orphaned. The next stop shows whether it has; SIGSTOP, which is
// never dropped, is used then.
func (s *shard) stopHere(g *held) {
	sig := g.toStop
	g.toStop, g.stopping = 0, sig
	_ = goOn(unix.PTRACE_CONT, g.pid, sig)
	if sig != 0 && sig != unix.SIGSTOP {
		_ = resume(unix.PTRACE_INTERRUPT, g.pid, 0)
	}
}

// report reports a signal. The report goes out before the ghost goes on. A signal is lost only if the keeper dies
// between its wait for the ghost, by which the kernel forgets the signal (task_stopped_code of kernel/exit.c), and the
// report.
func (s *shard) report(g *held, info *siginfo) {
	s.events.signal(g.pid, info, s.forGroup(g, info))
	s.events.flush()
}

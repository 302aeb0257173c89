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
	s.seeStop(g, st)
	if g.stopped && !g.asked {
		_ = goOn(unix.PTRACE_LISTEN, g.pid, 0)
		return
	}
	_ = goOn(unix.PTRACE_CONT, g.pid, 0)
}

// seeStop takes in from an event stop whether the ghost is in a group stop. If
// it is not though it was to be, the signal was dropped, see stopHere.
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

// deliver handles a ghost that is about to get a signal.
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

// heed reports a signal that a ghost is about to get, and returns what it is to get
// instead: nothing, unless the keeper itself has sent it.
func (s *shard) heed(g *held, info *siginfo) unix.Signal {
	sig := info.signal()
	switch {
	case s.mark.own(info) && sig == unix.SIGCONT, sig == unix.SIGCONT && g.continued && info.lost():
		g.continued = false // it has had its effect when it was sent
	case s.mark.own(info):
		return sig
	case g.owed > 0 && said(info, g.pid):
		g.owed--
	case sig == unix.SIGALRM && info.code() == siKernel:
		// The alarm that the image sets for a ghost that nobody adopts.
	case (sig == unix.SIGHUP || sig == unix.SIGCONT) && info.code() == siKernel && s.remoteGroup(g.pid):
		// Its group was orphaned while a member was stopped (kill_orphaned_pgrp of
		// kernel/exit.c). The process's own kernel sees to that; here ghosts may stop, go
		// on and end in another order. So one that goes on by it, and its process does not,
		// is stopped again.
		if sig == unix.SIGCONT && g.halts && !g.asked {
			g.toStop = unix.SIGSTOP
			_ = s.sendMark(g)
		}
	case sig == unix.SIGCHLD && info.code() > 0:
		// The end of a child on the front end: the kernel's business.
	default:
		s.report(g, info)
	}
	return 0
}

// stopHere puts the signal by which a ghost is to be stopped in the place of the
// mark that is about to be delivered. A SIGCONT that comes before it has stopped
// undoes that, as it should. The kernel drops a stop signal of a terminal if the
// ghost's group is orphaned; whether it has, the next stop shows, and then
// SIGSTOP, which is never dropped, does the same.
func (s *shard) stopHere(g *held) {
	sig := g.toStop
	g.toStop, g.stopping = 0, sig
	_ = goOn(unix.PTRACE_CONT, g.pid, sig)
	if sig != 0 && sig != unix.SIGSTOP {
		_ = resume(unix.PTRACE_INTERRUPT, g.pid, 0)
	}
}

// report reports a signal. It goes out before the ghost goes on: should the keeper die in
// between, the ghost gets the signal, and it is not lost.
func (s *shard) report(g *held, info *siginfo) {
	s.events.signal(g.pid, info)
	s.events.flush()
}

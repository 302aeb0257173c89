package ghost

import (
	"errors"

	"golang.org/x/sys/unix"

	"bproc/ghost/groupkill"
	"bproc/wire"
)

// handle carries out a request of the master and answers it.
func (s *shard) handle(r *request) {
	if err := s.carryOut(r.msg); !s.ended {
		s.answer(r, err)
	}
}

// answer reports the outcome of a request.
func (s *shard) answer(r *request, err error) {
	fork, forks := r.msg.(*wire.GhostFork)
	switch {
	case r.answered && err != nil && forks: // as if it had existed
		s.events.gone(&wire.GhostGone{PID: fork.Child, Status: wire.SignalStatus(int(unix.SIGKILL))})
	case r.answered && err == nil:
	case r.done != nil && !r.answered:
		r.done(err)
	case r.number != 0 && !r.answered:
		s.events.done(r.master, r.number, errnoOf(err))
	case err != nil && !errors.Is(err, unix.ESRCH):
		s.log.Warn("a request for a ghost could not be carried out", "msg", r.msg.Type(), "err", err)
	}
}

func (s *shard) carryOut(m wire.Message) error {
	switch m := m.(type) {
	case *wire.GhostAdopt:
		return s.adopt(m)
	case *wire.GhostFork:
		err := s.with(m.Parent, func(g *held) error { return s.forkIn(g, m) })
		if err != nil && s.ghosts[m.Child] == nil {
			s.owners.drop(m.Child, s)
		}
		return err
	case *wire.GhostExec:
		return s.with(m.PID, func(g *held) error { return s.exec(g, m) })
	case *wire.GhostJoin:
		return s.with(m.PID, func(g *held) error { return s.join(g, m) })
	case *wire.GhostExit:
		return s.with(m.PID, func(g *held) error { return s.exit(g, m.Status, m.Zombie) })
	case *wire.GhostStop:
		return s.with(m.PID, func(g *held) error { return s.stop(g, unix.Signal(m.Signal)) })
	case *wire.GhostCont:
		return s.with(m.PID, s.cont)
	case *wire.GhostCall:
		return s.with(m.PID, func(g *held) error { return s.sendSignal(g, m) })
	case *wire.GhostSync:
		return s.with(m.PID, s.sync)
	case *wire.GhostUser:
		return s.with(m.PID, func(g *held) error { return s.become(g, m.User, m.Group) })
	case *wire.GhostTrait:
		return s.with(m.PID, func(g *held) error { return s.trait(g, m.Option, m.Value) })
	}
	return nil
}

func (s *shard) with(pid wire.PID, do func(*held) error) error {
	g := s.ghosts[pid]
	if g == nil {
		return unix.ESRCH
	}
	return do(g)
}

func errnoOf(err error) uint32 {
	var errno unix.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &errno):
		return uint32(errno)
	}
	return uint32(unix.EIO)
}

// cloneArgs is struct clone_args of clone3(2), followed by the array that its set_tid points to.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64

	setTID     uint64
	setTIDSize uint64
	cgroup     uint64
	tid        int32
	_          int32
}

const sizeofCloneArgs = 88 // up to cgroup: CLONE_ARGS_SIZE_VER2

// fork makes a child or a sibling of a ghost, with a chosen number. The new ghost needs nothing
// more: it returns from the system call where its maker does, at the end of the loop.
func (s *shard) fork(g *held, m *wire.GhostFork) error {
	s.announce(g.tree, m.Child)
	defer func() {
		if g.tree.at == nil { // else others have been announced, and allMade is called for all at once
			s.allMade(g.tree)
		}
	}()
	d, err := s.drive(g)
	if err != nil {
		return err
	}
	addr := d.scratch()
	args := cloneArgs{exitSignal: uint64(unix.SIGCHLD), setTID: addr + sizeofCloneArgs, setTIDSize: 1, tid: int32(m.Child)}
	event := unix.PTRACE_EVENT_FORK
	if m.Sibling { // the exit signal is its maker's, and none may be given (clone(2))
		args.flags, args.exitSignal, event = unix.CLONE_PARENT, 0, unix.PTRACE_EVENT_CLONE
	}
	defer d.letGo() // at once: it is in the middle of its call, and others may want to signal it
	if err := d.write(piece{addr, args.bytes()}); err != nil {
		return err
	}
	how := wire.Adopted{PID: m.Child, HangUp: m.HangUp, Birth: m.Birth, Owner: m.Owner, Space: m.Space}
	if err := s.owners.originate(&how); err != nil {
		s.log.Warn("a later keeper will not know whose a ghost is", "pid", m.Child, "err", err)
	}
	_, err = d.callUntil(event, here.make, newCalling(unix.SYS_CLONE3, addr, sizeofCloneArgs))
	if err != nil && !s.madeUnseen(m.Child) {
		return err
	}
	child := &held{pid: m.Child, tree: g.tree, user: g.user, group: g.group, root: g.root, argv: g.argv, astray: g.astray, fresh: true}
	s.add(child)
	s.owners.note(how)
	if status, ok := s.early[m.Child]; ok {
		delete(s.early, m.Child)
		s.ghostStopped(child, status)
	}
	return nil
}

// madeUnseen reports whether a ghost was made whose maker has not reported it: SIGKILL takes a
// ghost past the stop of the event, too, which comes after the child was made (kernel_clone of
// kernel/fork.c).
func (s *shard) madeUnseen(child wire.PID) bool {
	if s.ghosts[child] != nil {
		return false
	}
	_, _, err := look(child, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG)
	return err == nil // ECHILD: there is none, or this shard does not trace it
}

// join puts a ghost, or its child, into a new session or into a process group.
func (s *shard) join(g *held, m *wire.GhostJoin) error {
	d, err := s.drive(g)
	if err != nil {
		return err
	}
	defer d.release()
	if m.SID == g.pid {
		// EPERM: it leads a group already, so it leads its session too, or cannot.
		if _, err := d.call(unix.SYS_SETSID); err != nil && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	if m.PGID != 0 && (m.SID != g.pid || m.PGID != g.pid) {
		_, err = d.call(unix.SYS_SETPGID, uint64(m.Child), uint64(m.PGID))
	}
	for _, pid := range []wire.PID{g.pid, m.Child} {
		if moved := s.ghosts[pid]; moved != nil {
			moved.groupKill = groupkill.Now()
		}
	}
	return err
}

// stop stops a ghost by the signal that has stopped its process, so that its parent sees that
// signal.
func (s *shard) stop(g *held, sig unix.Signal) error {
	if !stopSignal(sig) {
		return unix.EINVAL
	}
	if g.killed || g.asked {
		return nil
	}
	g.halts, g.toStop = true, sig
	return s.sendMark(g)
}

// cont lets a stopped ghost, or one that is about to stop, go on. Only a SIGCONT ends a group stop.
func (s *shard) cont(g *held) error {
	g.halts, g.toStop = false, 0
	if !g.stopped && g.stopping == 0 || g.killed || g.asked {
		return nil
	}
	g.stopping = 0 // a stop that is pending is undone as well
	g.continued = true
	return s.mark.send(g.pid, unix.SIGCONT)
}

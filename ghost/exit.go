package ghost

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// exit ends a ghost as its process ended. It does not wait for the end: the shard will see and
// report it, except while there are slipped ghosts; then exit waits. A ghost that is to stay a
// zombie is waited for, and released by the next exit.
func (s *shard) exit(g *held, status wire.Status, zombie bool) error {
	switch {
	case g.zombie && zombie:
		return nil
	case g.zombie:
		g.zombie = false
		return s.letDie(g)
	case g.asked:
		return nil
	}
	g.zombie = zombie
	if zombie && g.slipped {
		return nil
	}
	err := s.letEnd(g, status)
	switch {
	case g.asked && zombie:
		s.awaitZombie(g)
	case g.asked && s.slipped > 0:
		s.awaitEnd(g)
	}
	return err
}

// awaitZombie waits until a ghost is a zombie, as for a ghost that is driven: only then do its
// children have another parent, and the answer to the request promises that.
func (s *shard) awaitZombie(g *held) {
	for s.ghosts[g.pid] == g && !g.slipped {
		status, err := s.awaitStop(g)
		if err != nil {
			return
		}
		s.ghostStopped(g, status)
	}
}

func (s *shard) letEnd(g *held, status wire.Status) error {
	if g.killed { // by SIGKILL, whatever its process did last
		return s.letDie(g)
	}
	sig, signaled := status.Signaled()
	switch {
	case signaled && deadly(unix.Signal(sig)):
		return s.exitBySignal(g, unix.Signal(sig))
	case signaled:
		g.asked = true
		return unix.Kill(int(g.pid), unix.SIGKILL)
	}
	code, _ := status.Exited()
	d, err := s.drive(g)
	if err != nil {
		return s.killedMeanwhile(g, err)
	}
	g.asked = true
	// It need not stop again on its way.
	_ = ptrace(unix.PTRACE_SETOPTIONS, g.pid, 0, traceOptions&^unix.PTRACE_O_TRACEEXIT)
	r := d.saved
	r.begin(here.one, g.pid)
	r.call(newCalling(unix.SYS_EXIT_GROUP, uint64(code)))
	if err := r.set(g.pid); err != nil {
		return s.killedMeanwhile(g, s.lost(g, "set registers of", err))
	}
	return resume(unix.PTRACE_CONT, g.pid, 0)
}

// killedMeanwhile releases a ghost that got SIGKILL while it was being stopped.
func (s *shard) killedMeanwhile(g *held, err error) error {
	if !g.killed {
		return err
	}
	return s.letDie(g)
}

// letDie releases a ghost that got SIGKILL.
func (s *shard) letDie(g *held) error {
	g.asked = true
	if g.slipped { // it is a zombie already
		g.slipped = false
		s.slipped--
		s.awaitEnd(g)
		return nil
	}
	return resume(unix.PTRACE_CONT, g.pid, 0)
}

// deadly reports whether a signal other than SIGKILL can end a process (signal(7)).
func deadly(sig unix.Signal) bool {
	switch sig {
	case unix.SIGKILL, unix.SIGCHLD, unix.SIGCONT, unix.SIGURG, unix.SIGWINCH:
		return false
	}
	return sig > 0 && sig <= 64 && !stopSignal(sig)
}

// exitBySignal ends a ghost by the default action of a signal. The ghost may have inherited another
// action, for example to ignore it, so the default is set first. No core is written for a ghost:
// with a limit of 1 the kernel does not even call a handler of core_pattern (core(5)).
func (s *shard) exitBySignal(g *held, sig unix.Signal) error {
	d, err := s.drive(g)
	if err != nil {
		return s.killedMeanwhile(g, err)
	}
	limit := unix.Rlimit{Cur: 1, Max: 1}
	if err := unix.Prlimit(int(g.pid), unix.RLIMIT_CORE, &limit, nil); err != nil {
		s.log.Warn("core limit of a ghost", "pid", g.pid, "err", err)
	}
	if err := d.defaultAction(sig); err != nil {
		return s.killedMeanwhile(g, err)
	}
	g.asked = true
	// It is in the stop before the delivery of a signal: sig replaces that signal.
	return resume(unix.PTRACE_CONT, g.pid, sig)
}

// kernelAction is struct sigaction as the kernel has it (rt_sigaction(2)).
type kernelAction struct{ handler, flags, restorer, mask uint64 }

// defaultAction sets a ghost's action for a signal to the default.
func (d *driven) defaultAction(sig unix.Signal) error {
	var action kernelAction
	l := d.list()
	l.call(unix.SYS_RT_SIGACTION, uint64(sig), l.put((*[unsafe.Sizeof(action)]byte)(unsafe.Pointer(&action))[:]), 0, 8)
	return d.make(l)
}

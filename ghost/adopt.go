package ghost

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// AnyUser and Parent 0 in a GhostAdopt mean a ghost that was adopted before: its image and its mark
// alone identify it.
const AnyUser = ^uint32(0)

// adopt seizes a ghost that a client made. It checks the process before it seizes it, so as not to
// touch another process, and checks the image again afterwards: from then on nothing can change
// unseen.
func (s *shard) adopt(m *wire.GhostAdopt) error {
	if s.ghosts[m.PID] != nil {
		return unix.EEXIST
	}
	g := &held{pid: m.PID, tree: new(tree), since: m.UID == AnyUser}
	st, err := s.seize(g, m)
	if err != nil {
		s.owners.drop(m.PID, s)
		return err
	}
	if parent := s.ghosts[st.parent]; parent != nil && parent.tree.at == nil && g.tree.at == nil {
		g.tree = parent.tree
	}
	g.astray = g.since
	g.user, g.group = st.user, st.group
	g.root = st.user.Effective == 0 && st.capable != imageCapabilities
	s.owners.set(m.PID, s) // another request may have named it before, and been refused
	s.add(g)
	how := wire.Adopted{PID: m.PID, Parent: st.parent, HangUp: m.HangUp, Birth: m.Birth, Owner: m.Owner, Space: m.Space}
	if g.since {
		_, how.HangUp = wasHeld(m.PID)
	}
	if err := s.owners.adopted(how); err != nil {
		s.log.Warn("a later keeper will not know whose a ghost is", "pid", m.PID, "err", err)
	}
	if err := markHeld(m.PID, how.HangUp); err != nil {
		s.log.Warn("a ghost is not marked; no later keeper would seize it", "pid", m.PID, "err", err)
	}
	favour(m.PID)
	if st.blocked != 0 {
		// A blocked signal never reaches the point where a tracer sees it.
		if err := s.unblock(g); g.killed {
			return nil // and ends like one that is killed later
		} else if err != nil {
			return err
		}
	}
	if !g.since {
		s.raise(g)
	}
	if g.since || st.name == filepath.Base(s.image) {
		s.comeUp(g)
	}
	return nil
}

// seize attaches to a process that is a ghost.
func (s *shard) seize(g *held, m *wire.GhostAdopt) (processStatus, error) {
	if m.PID <= 1 {
		return processStatus{}, unix.EINVAL
	}
	if err := s.awaitStranger(g); err != nil {
		return processStatus{}, err
	}
	p, err := openProcess(m.PID)
	if err != nil {
		return processStatus{}, err
	}
	defer p.close()
	st, err := s.checkSettled(g, p, m)
	if err != nil {
		return st, err
	}
	if err := ptrace(unix.PTRACE_SEIZE, m.PID, 0, traceOptions); err != nil {
		return st, fmt.Errorf("seize %d: %w", m.PID, err)
	}
	// It is still the same process: a process that runs the image and has no other tracer changes
	// nothing that was checked, except by executing another image.
	if err := s.rules.checkImage(p); err != nil {
		s.letGo(m.PID)
		return st, err
	}
	return st, nil
}

// executeTime is how long a client's child may take from the end of its vfork(2) until it runs the
// image.
const executeTime = 500 * time.Millisecond

// checkSettled is check for a process that may still be executing the image: its parent, waiting in
// vfork(2), goes on before the kernel has changed the child's image and credentials.
func (s *shard) checkSettled(g *held, p process, m *wire.GhostAdopt) (processStatus, error) {
	st, err := s.rules.check(p, m)
	waited := time.Duration(0)
	for pause := comeUp; err != nil; pause = min(2*pause, maxPause) {
		var settled bool
		switch {
		case errors.Is(err, errImage):
			settled = waited >= executeTime || !p.runsImageOf(m.Parent)
		case errors.Is(err, unix.EPERM):
			settled = p.hasExecuted()
		default:
			return st, err
		}
		if st, err = s.rules.check(p, m); err == nil || settled {
			break
		}
		if err := s.pause(g, waited, pause); err != nil {
			return st, err
		}
		if s.worker != nil && s.worker.request.answered {
			return st, unix.EAGAIN
		}
		waited += pause
	}
	return st, err
}

// comeUp waits until a ghost has run the code before its loop. Until then it has the name of the
// image, which a client that hears of its process must not see. It also learns whether the ghost is
// stopped. The master needs that at once for a ghost that a former keeper held, and /proc shows
// only "t" after the seizing (ptrace(2)). A ghost that is killed meanwhile is held and reported
// like any other.
func (s *shard) comeUp(g *held) {
	d, err := s.drive(g)
	if err != nil {
		return
	}
	if g.since {
		g.halts = g.stopped
		d.disown()
		_ = d.quiet() // or it has ended, or is held in its exit
	}
	d.release()
}

// unblock empties a ghost's signal mask.
func (s *shard) unblock(g *held) error {
	d, err := s.drive(g)
	if err != nil {
		return err
	}
	defer d.release()
	var mask uint64
	if err := ptrace(ptraceSetSigmask, g.pid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))); err != nil {
		return fmt.Errorf("signal mask of ghost %d: %w", g.pid, err)
	}
	return nil
}

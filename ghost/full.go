package ghost

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// There may be no room for a ghost's child: its control group or its user has as many tasks as
// allowed (pids.max, RLIMIT_NPROC; clone(2), EAGAIN), though the master promises nodes no more than
// that. Other processes may have taken the promised room, or ghosts are about to end whose
// processes have ended. So the shard tries again for a while. Requests about the ghost's tree wait
// meanwhile, or are answered early, as for a ghost that does not run.
//
// The same is done when the child's number is in use (EEXIST): a process that has ended is a zombie
// until its parent has waited for it, which may take a moment.

// roomTime is how long the shard tries to make a child. roomPause is the first pause; pauses grow.
const (
	roomTime     = 5 * time.Second
	roomPause    = 2 * time.Millisecond
	maxRoomPause = 100 * time.Millisecond
)

// passes reports whether the reason why a ghost cannot have a child may pass.
func (s *shard) passes(err error, m *wire.GhostFork) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EEXIST) && s.ghosts[m.Child] == nil
}

// forkIn is fork that waits for room.
func (s *shard) forkIn(g *held, m *wire.GhostFork) error {
	begun, pause := time.Now(), roomPause
	for {
		err := s.fork(g, m)
		if errors.Is(err, unix.EINVAL) && raiseAgain(s.log) {
			err = s.fork(g, m)
		}
		waits := s.passes(err, m) && s.worker != nil && !s.ended && time.Since(begun) <= roomTime && s.ghosts[g.pid] == g
		s.warnOfRoom(err, m, waits, pause == roomPause)
		if !waits {
			return err
		}
		s.announce(g.tree, m.Child)
		if err := s.park(0, g.tree, time.Now().Add(pause)); err != nil {
			return err
		}
		if !m.Sibling { // else one of the ghosts that end may be the parent
			s.makeRoom(g.tree, m)
		}
		pause = min(2*pause, maxRoomPause)
	}
}

// warnOfRoom says why a ghost has no child: once if it waits for room.
func (s *shard) warnOfRoom(err error, m *wire.GhostFork, waits, first bool) {
	switch {
	case errors.Is(err, unix.EEXIST) && (first || !waits):
		s.log.Warn("the number of a child of a ghost is in use", "pid", m.Parent, "child", m.Child, "by", whoHas(m.Child), "waits", waits)
	case errors.Is(err, unix.EAGAIN) && first && waits:
		s.log.Warn("a ghost finds no room for a child and waits for some; see its control group's pids.max and its user's limit of processes", "pid", m.Parent, "child", m.Child)
	}
}

// makeRoom ends those ghosts of a tree that have a waiting request to end, and no other request
// before it.
func (s *shard) makeRoom(t *tree, fork *wire.GhostFork) {
	asked := map[wire.PID]bool{fork.Parent: true, fork.Child: true}
	var kept, ends []request
	for _, r := range t.waiting {
		if m, ok := r.msg.(*wire.GhostExit); ok && !asked[m.PID] {
			ends = append(ends, r)
			t.size -= r.size()
			continue
		}
		for _, pid := range about(r.msg) {
			asked[pid] = true
		}
		kept = append(kept, r)
	}
	t.waiting = kept
	w := s.worker
	own := w.request
	for i := range ends {
		w.request = &ends[i]
		s.handle(w.request)
	}
	w.request = own
}

// about returns all ghosts that a request concerns.
func about(m wire.Message) []wire.PID {
	switch m := m.(type) {
	case nil:
		return nil
	case *wire.GhostFork:
		return []wire.PID{m.Parent, m.Child}
	case *wire.GhostJoin:
		return []wire.PID{m.PID, m.Child}
	}
	pid, _ := subject(m)
	return []wire.PID{pid}
}

// whoHas describes the process that has a number, for a log message.
func whoHas(pid wire.PID) string {
	text, err := readProc(pid, "status")
	if err != nil {
		return "a process group or session whose leader has ended, or a process that has just ended"
	}
	field := func(name string) string {
		_, rest, _ := bytes.Cut(append([]byte("\n"), text...), []byte("\n"+name+":"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		return string(bytes.TrimSpace(line))
	}
	return fmt.Sprintf("%s, state %s, parent %s", field("Name"), field("State"), field("PPid"))
}

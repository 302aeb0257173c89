package nodes

import (
	"context"

	"bproc/procfs"
	"bproc/wire"
)

// On a node there are no ghosts to read: the front end is looked at as one more node, and the texts
// of its own processes have what its kernel knows.

// on records the node that this program is on, and returns the nodes to look at.
func (s *Source) on(here *wire.NodeID, list []wire.Node) []wire.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.here = here
	if here == nil {
		return list
	}
	return append(list, wire.Node{ID: wire.FrontEnd, State: "up", Procs: 1})
}

// hasGhost reports whether a process is known to have a ghost.
func (s *Source) hasGhost(pid wire.PID) bool {
	if s.here != nil {
		return false
	}
	_, ok := s.front.place(pid)
	return ok
}

// parentOf returns the parent of a process whose node says that it is init's; 0: not known. On the
// front end such an orphan has another parent than init if there is a subreaper (prctl(2)), which
// is not known elsewhere.
func (s *Source) parentOf(pid wire.PID) wire.PID {
	if s.here != nil {
		return initPID
	}
	ghost, _ := s.front.place(pid)
	return ghost.parent
}

// terminal returns the terminal of a process's session, if this process tells it: the process is on
// the front end, or has its ghost there.
func (s *Source) terminal(pid wire.PID) (place, bool) {
	if s.here != nil {
		p := s.procs[pid]
		return place{tty: p.place.tty, fg: p.place.fg}, p.shown.Node == wire.FrontEnd
	}
	ghost, ok := s.front.place(pid)
	return place{tty: ghost.tty, fg: ghost.fg}, ok
}

// asker returns the user for whom something is fetched; nil: this program's. The master believes
// root.
func asker(ctx context.Context) *wire.Asker {
	uid, gid, ok := procfs.Asker(ctx)
	if !ok {
		return nil
	}
	return &wire.Asker{UID: uid, GID: gid}
}

package nodes

import (
	"context"

	"bproc/procfs"
	"bproc/wire"
)

// On a node there are no ghosts to look at: the front end is looked at as one node more,
// and what its kernel knows is in what it tells of its own processes.

// on takes in where this is, and returns the nodes that are to be looked at.
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

// parentOf returns the parent of a process of which its node says that it is init's; 0:
// not known. Such an orphan has another than init on the front end if there is a
// subreaper (prctl(2)), which is not known elsewhere.
func (s *Source) parentOf(pid wire.PID) wire.PID {
	if s.here != nil {
		return initPID
	}
	ghost, _ := s.front.place(pid)
	return ghost.parent
}

// terminal returns the terminal of the session of a process, if the front end knows that
// by this process: it is there, or its ghost.
func (s *Source) terminal(pid wire.PID) (place, bool) {
	if s.here != nil {
		p := s.procs[pid]
		return place{tty: p.place.tty, fg: p.place.fg}, p.shown.Node == wire.FrontEnd
	}
	ghost, ok := s.front.place(pid)
	return place{tty: ghost.tty, fg: ghost.fg}, ok
}

// asker returns for whom something is looked up: on a node for who reads. On the front
// end, where modes of files say who may, it is for the view.
func (s *Source) asker(ctx context.Context) *wire.Asker {
	s.mu.Lock()
	away := s.here != nil
	s.mu.Unlock()
	uid, gid, ok := procfs.Asker(ctx)
	if !away || !ok {
		return nil
	}
	return &wire.Asker{UID: uid, GID: gid}
}

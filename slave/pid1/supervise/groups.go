package supervise

import (
	"context"

	"bproc/pidmap"
	"bproc/wire"
)

// setpgid: the kernel carries it out, for groups have the same numbers everywhere.
// A group of the front end may have to be made here first; the front end says
// whether there is such a group in the caller's session.
func (s *Supervisor) setpgid(r *request) verdict {
	target, pgid := wire.PID(r.int(0)), wire.PID(r.int(1))
	if target < 0 || pgid < 0 {
		return goOn
	}
	who, ok := r.who, true
	if target != 0 && target != who.pid {
		who, ok = s.view.process(target)
	}
	if pgid == 0 {
		pgid = who.pid
	}
	if !ok || who.pgid == pgid {
		return goOn
	}
	if pgid >= pidmap.Node || pgid == who.pid || pgid == r.who.pgid || s.here(int32(pgid)) {
		s.frontEnd.Regroups(who.pid)
		return goOn
	}
	c := &wire.Call{Caller: r.who.pid, Op: wire.CallGroup, Args: []int64{int64(pgid)}}
	return s.call(c, func(ctx context.Context, v verdict) verdict {
		if v.errno != 0 {
			return v
		}
		// Without the group the kernel says what there is to say.
		_ = s.frontEnd.Group(ctx, r.who.sid, pgid)
		s.frontEnd.Regroups(who.pid)
		return goOn
	})
}

// setsid fails for the leader of a group, there as here.
func (s *Supervisor) setsid(r *request) verdict {
	if r.who.pgid != r.who.pid {
		s.frontEnd.Regroups(r.who.pid)
	}
	return goOn
}

// ours reports whether a session was made on this node: then all its processes are
// in this space, for nobody joins a session.
func (s *Supervisor) ours(sid wire.PID) bool {
	if sid >= pidmap.Node {
		return true
	}
	e, ok := s.launched.get(sid)
	return ok && e.started && e.sid != sid
}

// groupIsOurs reports whether a group certainly is of such a session.
func (s *Supervisor) groupIsOurs(who identity, pgid wire.PID) bool {
	if who.pgid == pgid {
		return s.ours(who.sid)
	}
	if !s.here(int32(pgid)) {
		return false // its leader has ended; the front end knows
	}
	leader, ok := s.view.process(pgid)
	return ok && leader.pgid == pgid && s.ours(leader.sid)
}

package supervise

import (
	"context"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// setpgid lets the kernel carry out the call, for groups have the same numbers everywhere. A group
// of the front end may have to be made here first; the front end says whether there is such a group
// in the caller's session.
//
// The kernel checks the group last, so a call that it refuses for another reason goes on.
func (s *Supervisor) setpgid(r *request) verdict {
	caller, ok := r.eyes.caller(r.tid)
	if !ok { // in a namespace further in; its children are watched only if they do this themselves
		s.frontEnd.Regroups(r.who.pid)
		return goOn
	}
	target, pgid := wire.PID(r.int(0)), wire.PID(r.int(1))
	who := caller
	if target != 0 && target != caller.pid {
		if who, ok = s.view.process(target); !ok || who.parent != uint32(caller.pid) || who.sid != caller.sid {
			return goOn
		}
	}
	if pgid == 0 {
		pgid = who.pid
	}
	if pgid < 0 || who.pgid == pgid || who.sid == who.pid {
		return goOn
	}
	if pgid >= pidmap.Node || pgid == who.pid || pgid == caller.pgid || s.here(int32(pgid)) {
		s.frontEnd.Regroups(who.pid)
		return goOn
	}
	return s.join(r, caller, who, pgid)
}

// join has a process join a group of the front end.
func (s *Supervisor) join(r *request, caller, who identity, pgid wire.PID) verdict {
	c := &wire.Call{Caller: caller.pid, Op: wire.CallGroup, Args: []int64{int64(pgid)}}
	return s.call(r, c, func(ctx context.Context, v verdict) verdict {
		switch {
		case v.errno == unix.EPERM && who.pid != caller.pid && s.view.executed(who.pid):
			return failure(unix.EACCES)
		case v.errno != 0:
			return v
		}
		// Without the group the kernel returns the right error.
		_ = s.frontEnd.Group(ctx, caller.sid, pgid)
		s.frontEnd.Regroups(who.pid)
		return goOn
	})
}

// setsid lets the call go on. If it fails, nothing changes.
func (s *Supervisor) setsid(r *request) verdict {
	s.frontEnd.Regroups(r.who.pid)
	return goOn
}

// ours reports whether a session was made on this node: then all its processes are in this space,
// for no process can join a session.
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

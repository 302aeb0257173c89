package pid1

import (
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// use makes a session exist, and a group in it unless pgid is the session's own or 0, and keeps
// both until leave. EEXIST means that a process has a number that is needed.
func (t *standins) use(sid, pgid wire.PID) (*session, *group, error) {
	if pgid == sid {
		pgid = 0
	}
	if sess, g, ok := t.find(sid, pgid); ok {
		return sess, g, nil
	}
	t.making.Lock()
	defer t.making.Unlock()
	for {
		sess, g, ok := t.find(sid, pgid)
		switch {
		case ok:
			return sess, g, nil
		case sess == nil:
			if err := t.makeWay(sid); err != nil {
				return nil, nil, err
			}
			if _, err := t.leader(sid); err != nil {
				return nil, nil, err
			}
		default:
			if err := t.makeWay(pgid); err != nil {
				return nil, nil, err
			}
			if _, err := t.anchor(sess, pgid, false); err != nil {
				return nil, nil, err
			}
		}
	}
}

// find returns a session and a group as far as they exist, and whether both do; if so it begins a
// use of them.
func (t *standins) find(sid, pgid wire.PID) (*session, *group, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sess := t.sessions[sid]
	if sess == nil {
		return nil, nil, false
	}
	g := t.groups[pgid]
	if g != nil && g.session != sess {
		g = nil
	}
	if pgid != 0 && g == nil {
		return sess, nil, false
	}
	sess.uses++
	if g != nil {
		g.uses++
	}
	return sess, g, true
}

// leave ends a use.
func (t *standins) leave(sess *session, g *group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sess.uses--
	sess.used = time.Now()
	if g != nil {
		g.uses--
		g.used = sess.used
	}
}

// lead gives an anchor to a group that a process leads. Without one the group is
// orphaned, and otherwise as good.
func (t *standins) lead(sess *session, pgid wire.PID) {
	t.making.Lock()
	defer t.making.Unlock()
	if _, g, ok := t.find(sess.id, pgid); ok {
		t.leave(sess, g)
		return
	}
	if _, err := t.anchor(sess, pgid, true); err != nil {
		t.log.Debug("group has no anchor", "pid", pgid, "err", err)
	}
}

// free makes a number free for a process, if only stand-ins have it.
func (t *standins) free(number wire.PID) error {
	t.mu.Lock()
	taken := t.numbers[number] != nil || t.groups[number] != nil
	t.mu.Unlock()
	if !taken {
		return nil
	}
	t.making.Lock()
	defer t.making.Unlock()
	return t.makeWay(number)
}

// makeWay ends the stand-ins that keep a number from being used for something else. making is held.
func (t *standins) makeWay(number wire.PID) error {
	dying, holders, used := t.holders(number)
	for _, s := range dying {
		t.awaitEnd(s)
	}
	if len(holders) == 0 {
		return nil
	}
	if used {
		return unix.EEXIST
	}
	if p, err := t.processes(); err != nil || p.sessions[number] || p.groups[number] {
		return unix.EEXIST
	}
	if !t.endAll(holders) {
		return unix.EEXIST
	}
	return nil
}

// holders returns the stand-ins that keep a number in use, and whether a launch
// needs one of them.
func (t *standins) holders(number wire.PID) (dying, holders []*sleeper, used bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.numbers {
		switch {
		case !s.has(number):
		case s.doomed:
			dying = append(dying, s)
		default:
			holders = append(holders, s)
			used = used || s.group != nil && s.group.uses > 0
		}
	}
	sess := t.sessions[number]
	return dying, holders, used || sess != nil && sess.uses > 0
}

// has reports whether a stand-in keeps a number in use: as its own, its group's or its session's.
func (s *sleeper) has(number wire.PID) bool {
	return wire.PID(s.number) == number || s.group != nil && s.group.id == number || s.session.id == number
}

// endAll ends stand-ins, leaders last: they take part in the ends of others. It reports false if a
// launch uses one of them, which stays.
func (t *standins) endAll(all []*sleeper) bool {
	ended := true
	for _, leaders := range []bool{false, true} {
		for _, s := range all {
			if leaders == (s == s.session.leader) {
				ended = t.endUnused(s) && ended
			}
		}
	}
	return ended
}

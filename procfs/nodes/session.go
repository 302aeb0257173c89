package nodes

import (
	"time"

	"bproc/wire"
)

// session is a session of the front end with processes on nodes. The front end's kernel knows its
// terminal; on a node it has none.
type session struct {
	members map[wire.PID]*process
	at      place // only tty and fg
	known   bool
	looked  time.Time // last, with or without success
}

// Sessions give up terminals and change foreground groups while nothing happens on a node. A
// session with a terminal is checked at each Refresh. One without, which hardly ever gets one, is
// checked less often.
const bareSession = 5 * time.Second

// orphanLooks is the number of Refreshes that check the ghost of an orphan: the ghost's parent ends
// a little later than the process's.
const orphanLooks = 5

// enter puts a process into the tables, and removes its former version.
func (s *Source) enter(p *process) {
	pid := p.shown.PID
	if was := s.procs[pid]; was != nil && was.shown.Node != p.shown.Node {
		s.ended[pid] = true
	}
	s.leave(pid)
	s.procs[pid] = p
	sess := s.sessions[p.session]
	if sess == nil {
		sess = &session{members: map[wire.PID]*process{}}
		s.sessions[p.session] = sess
	}
	sess.members[pid] = p
	if p.shown.Node == wire.FrontEnd {
		return // the report of its kernel is right
	}
	s.unsettled[pid] = true
	if p.parent == 0 {
		s.orphans[pid] = orphanLooks
	}
}

// leave removes a process from the tables.
func (s *Source) leave(pid wire.PID) {
	p := s.procs[pid]
	if p == nil {
		return
	}
	s.environs.leave(p.environ)
	delete(s.procs, pid)
	delete(s.orphans, pid)
	delete(s.unsettled, pid)
	sess := s.sessions[p.session]
	if delete(sess.members, pid); len(sess.members) == 0 {
		delete(s.sessions, p.session)
	}
}

// review checks everything that may have changed here while nothing has on the nodes.
func (s *Source) review(now time.Time) {
	for _, sess := range s.sessions {
		if s.look(sess, now) {
			s.unsettle(sess)
		}
	}
	for pid := range s.orphans {
		s.unsettled[pid] = true
		if s.orphans[pid]--; s.orphans[pid] == 0 {
			delete(s.orphans, pid)
		}
	}
}

// unsettle marks the processes of a session for settle.
func (s *Source) unsettle(sess *session) {
	for pid := range sess.members {
		s.unsettled[pid] = true
	}
}

// settle moves processes to their places on this machine. Those that have moved are in the next
// Changes.
func (s *Source) settle(now time.Time) {
	for pid := range s.unsettled {
		if sess := s.sessions[s.procs[pid].session]; !sess.known && s.look(sess, now) {
			s.unsettle(sess)
		}
	}
	for pid := range s.unsettled {
		p := s.procs[pid]
		if p.shown.Node == wire.FrontEnd {
			continue
		}
		to := p.place
		if p.parent != 0 {
			to.parent = p.parent
		} else if parent := s.parentOf(pid); parent != 0 {
			to.parent = parent
		}
		if sess := s.sessions[p.session]; p.bare && p.session > 0 && sess.known {
			to.tty, to.fg = sess.at.tty, sess.at.fg
		}
		if p.move(to) {
			s.changed[pid] = true
		}
	}
	clear(s.unsettled)
}

// look checks the terminal of a session, if that is due, and reports whether it has changed.
func (s *Source) look(sess *session, now time.Time) bool {
	if sess.known && sess.at.tty == 0 && now.Sub(sess.looked) < bareSession {
		return false
	}
	if !sess.known && sess.looked.Equal(now) { // for another member: none of them can tell
		return false
	}
	sess.looked = now
	for pid := range sess.members {
		at, ok := s.terminal(pid)
		if !ok {
			continue
		}
		was := sess.at
		sess.at, sess.known = at, true
		return sess.at != was
	}
	return false
}

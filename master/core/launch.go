package core

import (
	"golang.org/x/sys/unix"

	"bproc/internal/unacked"
	"bproc/wire"
)

// launch is a process that a client asks for, until it runs or has failed.
type launch struct {
	Run
	space uint64 // the node's, when its ghost was adopted. A later master has it started in no other, though perhaps none was asked
	sent  bool   // Spawn has been sent, for another connection
}

func (c *Core) run(in Run) { c.begin(&launch{Run: in}) }

// fail answers a launch that has failed. Callers that want to end processes conclude from "is down" that
// there are none, so the master says that only when it is certain.
func (c *Core) fail(l *launch, stage wire.Stage, errno unix.Errno) { c.failFor(l, stage, errno, "") }

func (c *Core) failFor(l *launch, stage wire.Stage, errno unix.Errno, why string) {
	if l.Ends && errno == unix.EHOSTDOWN && why == "" && !c.surelyAway(c.nodes.byID[l.Node]) {
		errno, why = unix.EAGAIN, "it is not certain yet that its processes have ended"
	}
	c.emit(Fail{l.Client, stage, errno, why})
}

// begin checks whether the caller may start a process on the node, and has its ghost adopted.
func (c *Core) begin(l *launch) {
	n := c.nodes.byID[l.Node]
	switch {
	case n == nil:
		c.fail(l, wire.StageNode, unix.ENXIO)
		return
	case l.From != 0 && !c.mayNest(l):
		return
	case c.mayCome(n, l):
		c.whenUp(n, c.untilFor(l), l)
		return
	case n.sess != nil && c.procs[l.PID] != nil && l.Again && c.beganBefore(l, n): // it ends with the other processes of a node that is set down
		return
	case !n.serves():
		c.fail(l, wire.StageNode, unix.EHOSTDOWN)
		return
	case l.Again && c.beganBefore(l, n): // whatever the caller's rights are by now
		return
	case !c.admitted(l, n):
		return
	case l.From != 0:
		c.nest(l, n)
	default:
		c.place(l, n)
	}
}

// place has the ghost of a launch that is admitted adopted, or has the launch wait for its turn.
func (c *Core) place(l *launch, n *node) {
	switch {
	case c.named(l):
		p := c.procs[l.PID]
		p.rivals = append(p.rivals, l)
		return
	case c.taken(l.PID):
		c.fail(l, wire.StageGhost, unix.EEXIST)
		return
	case n.sess.awaitsNumbers():
		c.delayed = append(c.delayed, l)
		return
	}
	p := c.launched(l, n)
	c.add(p)
	c.adopt(p)
}

// admitted reports whether a node takes a launch. If not, the launch fails.
func (c *Core) admitted(l *launch, n *node) bool {
	errno, why := n.admits(l.Who, l.Ends)
	if errno != 0 {
		c.failFor(l, wire.StageNode, errno, why)
	}
	return errno == 0
}

// do begins a launch that has waited.
func (l *launch) do(c *Core) { c.begin(l) }

// ready begins a launch that has waited for its node.
func (l *launch) ready(c *Core, s *session) {
	if s == nil {
		c.fail(l, wire.StageNode, unix.EHOSTDOWN)
	} else {
		c.begin(l)
	}
}

// awaitsNumbers reports whether a node has no numbers yet for the forks of a new process.
func (s *session) awaitsNumbers() bool { return s.numbers == 0 && (s.lending || s.granting) }

// launched returns the process of a launch.
func (c *Core) launched(l *launch, n *node) *proc {
	l.space = n.sess.inventory.Space
	return &proc{
		pid: l.PID, birth: l.Launch, node: n.ID, uid: l.Who.UID, limit: l.Limit, starter: l.Who.UID, sess: n.sess,
		state: adopting, launch: l, parent: l.Who.PID, hangUp: l.HangUp, report: l.Report, client: l.Client, again: l.Again,
	}
}

// mayCome reports whether a node that is not there may come in a moment: it was lost and its lease
// has not run out, or this master has just begun. A launch that is older than this master waits
// longer (untilFor).
func (c *Core) mayCome(n *node, l *launch) bool {
	switch {
	case n.sess != nil || n.Down || n.gone:
		return false
	case !n.lostAt.IsZero():
		return true
	}
	return n.Key != "" && c.clock.Before(c.untilFor(l))
}

// beganBefore goes on with a launch that a former master, or a former connection, has begun. It
// reports whether there is one.
func (c *Core) beganBefore(l *launch, n *node) bool {
	p, o := c.procs[l.PID], c.orphans[l.PID]
	switch {
	case p != nil && (p.node != n.ID || p.uid != l.Who.UID || !p.is(l.Launch)):
		return false
	case o != nil && !o.isOf(l.Launch, n.ID, l.Who.UID):
		return false
	case p != nil && (p.state == adopting || p.state == spawning):
		c.replace(p, l)
	case p != nil:
		c.emit(Resume{l.Client, n.sess.id})
	case o != nil: // the node has come, and does not have the process
		delete(c.orphans, l.PID)
		p := c.launched(l, n)
		p.signals = o.signals
		c.stoppedBefore(p)
		c.add(p)
		c.adopt(p) // it may have ended with its keeper
		c.orphansClaimed()
	case l.GhostExists:
		return false // nothing shows that it was ever adopted
	default:
		c.emit(Resume{l.Client, n.sess.id}) // perhaps it has ended, and its output is there
	}
	return true
}

// replace puts a launch in the place of the former launch of the same process.
func (c *Core) replace(p *proc, l *launch) {
	delete(c.absent, p.pid)
	l.sent = p.state == spawning
	if former := p.launch; former != nil {
		l.space, l.sent = former.space, former.sent
		c.emit(HandOver{former.Client, l.Client})
	}
	p.launch, p.client, p.hangUp, p.report = l, l.Client, l.HangUp, l.Report
}

// named reports whether another client has just named the ghost of a launch as its own. That may be
// a lie, which the keeper finds out.
func (c *Core) named(l *launch) bool {
	p := c.procs[l.PID]
	return p != nil && p.state == adopting && p.launch != nil &&
		(p.launch.Who.PID != l.Who.PID || p.launch.Who.UID != l.Who.UID)
}

// taken reports whether a number is in use as far as the master knows.
func (c *Core) taken(pid wire.PID) bool { return c.orphans[pid] != nil || c.procs[pid] != nil }

// adopt has the keeper hold the ghost of a launch. If the keeper is lost meanwhile, the next one is
// asked; if that is the same keeper, it may hold the ghost already.
func (c *Core) adopt(p *proc) {
	l := p.launch
	c.ask(&wire.GhostAdopt{PID: p.pid, Parent: l.Who.PID, UID: l.Who.UID, HangUp: l.HangUp, Birth: l.Launch, Owner: ownership(p.node, p.starter), Space: l.space}, &adopted{p})
}

// adopted handles the keeper's answer about the ghost of a launch.
type adopted struct{ p *proc }

func (r *adopted) answered(c *Core, errno unix.Errno) {
	switch {
	case errno == unix.EPIPE:
		r.p.again = true
		c.adopt(r.p)
	case errno == unix.EEXIST && r.p.again:
		c.adopted(r.p, 0)
	default:
		c.adopted(r.p, errno)
	}
}

// adopted goes on when the keeper has answered.
func (c *Core) adopted(p *proc, errno unix.Errno) {
	l := p.launch
	switch {
	case errno != 0 && l.Again && p.sess != nil:
		c.remove(p) // perhaps its process has ended, and its output is there
		c.emit(Resume{l.Client, p.sess.id})
	case errno != 0:
		c.remove(p)
		c.fail(l, wire.StageGhost, errno)
	default:
		p.ghost = true
		c.serve(p)
		p.state = spawning
		c.settleIn(p)
	}
	c.contend(p)
}

// spawn has the node of a process asked to start it. A node without a session may come back: then
// it is asked (replay), or the process is lost with it.
func (c *Core) spawn(p *proc) {
	switch n := c.nodes.byID[p.node]; {
	case n.sess == nil && !n.Down && !n.lostAt.IsZero():
	case !n.serves():
		c.abandon(p, wire.StageNode, unix.EHOSTDOWN)
	case p.sess.awaitsNumbers():
		c.delayed = append(c.delayed, &respawn{p, p.sess})
	case p.sess.hasStranger(p.pid):
		c.awaitStranger(p)
	default:
		o := Spawn{Client: p.launch.Client, Session: p.sess.id, PID: p.pid}
		if a := p.allotment; a != nil {
			o.TaskGroup, o.Tasks = a.group.ID, a.told
		}
		p.launch.sent, p.askedIn = false, n.sess.inventory.Space
		c.emit(o)
	}
}

// spawnAgain is spawn for processes whose Spawn was lost with the node's former session, before the
// node had the processes.
func (c *Core) spawnAgain(s *session, lost []*proc) {
	for _, p := range lost {
		(&respawn{p, s}).do(c)
	}
}

type respawn struct {
	p *proc
	s *session
}

func (t *respawn) do(c *Core) {
	if t.isDue() {
		c.spawn(t.p)
	}
}

// isDue reports whether the process is still to be started in the session.
func (t *respawn) isDue() bool {
	return t.p.state == spawning && !t.p.settling && t.p.sess == t.s && !t.s.ended
}

// spawned handles the slave's answer.
func (c *Core) spawned(p *proc, stage wire.Stage, errno unix.Errno) {
	if p.state != spawning {
		return
	}
	if errno != 0 {
		c.abandon(p, stage, errno)
		return
	}
	p.state = running
	c.release(p)
	c.started(p)
	if !c.nodes.byID[p.node].serves() { // the node was set down after the Spawn was sent
		c.kill(p)
	}
}

// started tells the client of a process that it runs. If a former master was asked for the process,
// it has no client yet.
func (c *Core) started(p *proc) {
	l := p.launch
	p.launch = nil
	switch {
	case l == nil:
		c.awaitClient(p)
	case l.sent:
		c.emit(Resume{l.Client, p.sess.id})
	default:
		c.emit(Started{l.Client, p.pid})
	}
}

// abandon ends the ghost of a process that could not be started, with the status of a shell: 127
// for a command that does not exist, 126 for one that cannot be executed, 255 for everything else. The
// client of a former master's launch is told that when it comes back.
func (c *Core) abandon(p *proc, stage wire.Stage, errno unix.Errno) {
	c.abandonFor(p, stage, errno, "")
}

func (c *Core) abandonFor(p *proc, stage wire.Stage, errno unix.Errno, why string) {
	l := p.launch
	p.launch = nil
	code := 255
	if stage == wire.StageExec {
		code = 126
		if errno == unix.ENOENT {
			code = 127
		}
	}
	c.end(p, wire.ExitStatus(code))
	if l != nil {
		c.failFor(l, stage, errno, why)
	} else {
		c.awaitClient(p)
		c.report(p)
	}
}

// end ends the ghost of a process that has ended.
func (c *Core) end(p *proc, status wire.Status) {
	p.state, p.status = ending, status
	p.signals.Queue = unacked.Queue[*wire.Signal]{}
	if !p.ghost {
		c.remove(p)
		return
	}
	c.inTurn(p, exitRequest{p})
}

// exitRequest has the keeper end the ghost of a process, if it still exists by then.
type exitRequest struct{ p *proc }

func (r exitRequest) do(c *Core) {
	if r.p.ghost {
		r.p.exits = true
		c.tell(&wire.GhostExit{PID: r.p.pid, Status: r.p.status})
	}
}

// refuse ends a launch that no slave can be asked for: its message would be too long, or its ghost
// is gone. Another launch may have taken its place meanwhile.
func (c *Core) refuse(in Refuse) {
	if p := c.procs[in.PID]; p != nil && p.launch != nil && p.is(in.Launch) {
		c.abandon(p, in.Stage, in.Errno)
	}
}

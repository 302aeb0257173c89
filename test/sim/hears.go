package sim

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	slave "bproc/slave/core"
	"bproc/wire"
)

// launches handles a request for a process.
func (d *daemon) launches(r request) {
	n, c := d.node, r.client
	d.start = nil
	if n.link != nil && n.link.id == r.session {
		n.link.served, n.heard = true, n.linked
	}
	d.step(slave.Wanted{PID: c.ghost})
	n.init.written = len(n.init.in)
	d.step(slave.Launch{Session: slave.Session(r.session), Spawn: &wire.Spawn{
		PID: c.ghost, PGID: r.pgid, SID: r.sid, Launch: c.launch, Parent: c.pid, UID: c.uid, GID: c.uid,
	}})
	if d.start == nil {
		return
	}
	if p := c.started; p != nil {
		n.sim.fail("process %d (birth %d) is started twice on node %d", p.pid, p.birth, n.id)
	}
	p := &proc{pid: c.ghost, birth: c.launch, node: n, booted: n.booted, client: c, announced: true, starting: true, known: *d.start, room: room{c.uid, r.taskGroup}}
	p.looks = looks{group: r.pgid, session: r.sid, uid: c.uid, name: ghostName}
	p.again = c.asked != nil && c.asked.runs
	if r.taskGroup != 0 {
		n.rooms[room{c.uid, r.taskGroup}] = r.tasks
	}
	c.started, c.asked, d.known[p.pid] = p, p, p
	n.init.in = append(n.init.in, p)
}

// hears handles a message of the master.
func (d *daemon) hears(o core.ToNode) {
	d.isServed()
	switch m := o.Message.(type) {
	case *wire.BlocksGranted:
		d.asked = false
		d.has(append(slices.Clone(d.node.blocks), m.Blocks...))
	case *wire.Signal:
		d.signal(m)
	case *wire.Budget:
		d.node.bound(m)
	case *wire.Renew:
		d.say(&wire.RenewRequest{})
	case *wire.Power:
		d.node.toPower(m)
	case *wire.HangUp:
		d.node.hangUp(m)
	default:
		d.step(slave.FromMaster{Number: o.Number, Message: m})
	}
}

// isServed records that the master's core knows the session.
func (d *daemon) isServed() {
	if l := d.node.link; !l.served {
		l.served, d.node.heard = true, d.node.linked
		d.step(slave.Served{})
	}
}

func signalOf(m *wire.Signal) unix.Signal {
	return unix.Signal(binary.LittleEndian.Uint32(m.Info))
}

// signal handles a signal from the front end.
func (d *daemon) signal(m *wire.Signal) {
	d.node.sim.note("node %d is to give %v to %d, number %d, seen %d, group %v", d.node.id, signalOf(m), m.PID, m.Seq, m.Seen, m.Group)
	in := slave.Signal{Signal: m, Meant: true}
	if p := d.node.procs[m.PID]; p != nil {
		in.Meant = p.announced && p.told <= m.Seen
	}
	if m.Group {
		for _, p := range d.node.inOrder() {
			if seen := p.announced && p.told <= m.Seen; !seen && p.descends(func(q *proc) bool { return q.pid == m.PID && q.told <= m.Seen }) {
				in.Late = append(in.Late, p.pid)
			}
		}
	}
	d.step(in)
}

// descends reports whether a process or one of its ancestors meets a condition.
func (p *proc) descends(is func(*proc) bool) bool {
	for ; p != nil; p = p.maker {
		if is(p) {
			return true
		}
	}
	return false
}

// findLate finds the processes that descend from processes without ghosts.
func (d *daemon) findLate() {
	in := slave.FoundLate{Held: d.looks.Held, All: d.node.sim.chance(2)}
	if d.looks.Held {
		d.held++
	}
	for _, of := range d.looks.All {
		var late []slave.Born
		for _, p := range d.node.inOrder() {
			if p.descends(func(q *proc) bool { return q.pid == of.PID && q.told == of.Event }) {
				late = append(late, slave.Born{PID: p.pid, Birth: p.birth})
			}
		}
		in.Late = append(in.Late, late)
	}
	d.looks = nil
	d.step(in)
}

// asks sends a call to the front end, after everything that the kernel has recorded.
func (d *daemon) asks(number uint64) {
	d.tell(len(d.node.records))
	d.step(slave.Call{Number: number, Call: d.node.calls[number].call})
}

package sim

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	slave "bproc/slave/core"
	"bproc/wire"
)

// daemon is the slave of a node: its core, and what was told of its processes.
type daemon struct {
	node   *node
	core   *slave.Core
	life   *life
	read   int                // number of the kernel's records read
	next   uint64             // number of the next event
	asked  bool               // for another block, and has no answer
	late   []request          // of sessions that have ended
	looks  *slave.LookForLate // a question without an answer
	known  map[wire.PID]*proc // started by the front end, the last one with each number
	found  slave.TakenOver
	unsure []wire.PID   // init has not reported on them yet
	told   int          // number of kept words of init that are still to be handled
	start  *slave.Known // of the last launch; nil: it must not start
	held   int
}

// begin starts a slave, the first or another one.
func (n *node) begin() {
	cfg := slave.Config{Journal: n.journal, Confirmed: n.confirms}
	life := n.sim.record(fmt.Sprint("slave of node ", n.id), cfg)
	c, err := slave.New(cfg)
	if err != nil {
		n.sim.fail("the slave of node %d cannot begin: %v", n.id, err)
		return
	}
	d := &daemon{node: n, core: c, life: life, read: max(int(c.Position()), n.released), next: 1, known: map[wire.PID]*proc{}}
	n.slave = d
	if !slices.Equal(c.Blocks(), n.blocks) {
		n.sim.fail("the next slave of node %d has the numbers %v, not %v", n.id, c.Blocks(), n.blocks)
	}
	for _, client := range n.sim.everyone {
		if p := client.asked; p != nil && p.node == n && p.booted == n.booted {
			d.known[p.pid] = p
		}
	}
	n.sim.note("node %d has a slave, which knows %v", n.id, slices.Sorted(maps.Keys(c.Known())))
	d.step(n.init.found())
	d.told = len(n.init.out)
	for _, pid := range d.found.Running {
		d.started(d.known[pid])
	}
	d.unsure = d.found.Unsure
	d.lookAtAll()
	for _, number := range slices.Sorted(maps.Keys(n.calls)) {
		d.step(slave.Call{Number: number, Call: n.calls[number].call})
	}
}

// lookAtAll checks that the end of each known process that does not exist is reported by init or
// the kernel.
func (d *daemon) lookAtAll() {
	n := d.node
	for pid, k := range d.core.Known() {
		p := n.procs[pid]
		_, kept := n.init.kept[pid]
		if k.Launched && !k.Starting && (p == nil || p.birth != k.Birth) && !kept {
			n.sim.fail("nobody knows how process %d (birth %d) on node %d has ended", pid, k.Birth, n.id)
		}
	}
}

// settled reports whether it is known which launches a former slave has begun, and how the others
// have ended.
func (d *daemon) settled() bool { return len(d.unsure)+d.told == 0 }

// step gives the core an input and performs the outputs.
func (d *daemon) step(in slave.Input) {
	if _, is := in.(slave.Told); !is {
		d.node.released = d.read
	}
	d.life.input(d.node.sim.now, in)
	for _, o := range d.core.Step(d.node.sim.now, in) {
		if next := d.perform(o); next != nil {
			d.step(next)
		}
	}
}

func (d *daemon) perform(o slave.Output) slave.Input {
	n := d.node
	switch o := o.(type) {
	case slave.ToMaster:
		d.toMaster(o)
	case slave.Renumber:
		d.renumber(o.Again)
	case slave.Returned:
		n.returned(o)
	case slave.Start:
		d.start = &o.Process
	case slave.TakenOver:
		d.found = o
	case slave.LookForLate:
		d.looks = &o
	case slave.Hold:
		d.held++
	case slave.LetGo:
		d.held--
	case slave.Kill:
		if p := n.procs[o.PID]; p != nil {
			n.end(p, wire.SignalStatus(int(unix.SIGKILL)))
		}
	case slave.Give, slave.KillAll, slave.Forget, slave.Deadline:
		n.init.in = append(n.init.in, o)
	case slave.Append:
		n.journal = append(n.journal, o.Records...)
		if n.sim.chance(50) {
			return slave.JournalGrown{}
		}
	case slave.Rewrite:
		n.journal, n.confirms = o.Records, 0
		return slave.JournalRewritten{}
	case slave.Confirm:
		n.confirms = o.Count
	case slave.OpenSession:
		n.bounds = nil
	case slave.Log:
		if o.Level >= slave.Warning {
			n.sim.note("slave %d: log %s %v", n.id, o.Text, o.Args)
		}
	}
	return nil
}

// toMaster sends a message.
func (d *daemon) toMaster(o slave.ToMaster) {
	l := d.node.link
	if l == nil {
		d.node.sim.fail("node %d says %T, and has no session", d.node.id, o.Message)
		return
	}
	switch m := o.Message.(type) {
	case *wire.Inventory:
		l.inventory = *m
		return
	case *wire.Events:
		if m.First != uint64(len(l.events))+1 {
			d.node.sim.fail("event %d of node %d follows %d", m.First, d.node.id, len(l.events))
		}
		l.events = append(l.events, m.Events...)
		if !l.begun {
			return
		}
	}
	l.up = append(l.up, said{o.Number, o.Message})
}

func (d *daemon) say(m wire.Message) {
	if l := d.node.link; l != nil {
		l.up = append(l.up, said{message: m})
	}
}

// renumber gives births the numbers of a new session.
func (d *daemon) renumber(again []wire.Event) {
	d.next = uint64(len(again)) + 1
	for _, p := range d.node.procs {
		p.told = 0
	}
	for i, e := range again {
		if p := d.node.procs[e.PID]; e.Kind == wire.EventForked && p != nil && p.birth == e.Birth {
			p.told = uint64(i) + 1
		}
	}
}

// connect begins a session.
func (d *daemon) connect() {
	d.tell(len(d.node.records))
	if len(d.core.Known()) == 0 {
		d.has(nil) // an idle node claims no blocks
	}
	d.asked = false
	d.step(slave.Heard{At: d.node.linked, Lease: lease})
	d.step(slave.SessionUp{Session: slave.Session(d.node.link.id), Inventory: wire.Inventory{Blocks: slices.Clone(d.node.blocks), Space: d.node.space()}})
}

func (d *daemon) lost() { d.step(slave.SessionLost{}) }

// has sets the node's blocks.
func (d *daemon) has(blocks []wire.Block) {
	d.node.blocks, d.node.expired = blocks, d.node.expired && len(blocks) > 0
	d.step(slave.Blocks{Blocks: blocks})
}

// works handles some input.
func (d *daemon) works() {
	n := d.node
	switch {
	case len(n.init.out) > 0:
		w := n.init.out[0]
		n.init.out = n.init.out[1:]
		d.told = max(0, d.told-1)
		d.takes(w)
	case len(d.unsure) > 0:
		d.settle()
	case d.looks != nil:
		d.findLate()
	case len(d.late) > 0:
		r := d.late[0]
		d.late = d.late[1:]
		d.launches(r)
	case len(n.records) > d.read:
		d.tell(d.read + 1 + n.sim.rng.IntN(len(n.records)-d.read))
	}
}

// busy reports whether there is input left.
func (d *daemon) busy() bool {
	i := d.node.init
	return len(i.in)+len(i.out)+len(d.unsure)+len(d.late)+len(d.node.records)-d.read > 0 || d.looks != nil
}

// tell tells the kernel's records up to a number.
func (d *daemon) tell(upTo int) {
	var t telling
	for ; d.read < upTo; d.read++ {
		r := d.node.records[d.read]
		about := r.p
		if r.event.Kind == wire.EventForked {
			about = r.p.maker
		}
		if about.starting {
			t.add(about, wire.Event{Kind: wire.EventSpawned})
		}
		if r.event.Kind == wire.EventForked {
			r.p.announced, r.p.told, r.p.known = true, d.next+uint64(len(t.events)), about.known
			r.p.known.PID, r.p.known.Birth, r.p.known.Parent, r.p.known.Launched = r.p.pid, r.p.birth, about.pid, false
		}
		if r.p.announced && r.p.known.Birth == r.p.birth {
			t.add(r.p, r.event)
		}
	}
	d.flush(&t)
}

// telling has the events that are to be told.
type telling struct {
	events []wire.Event
	states []slave.Known
}

func (t *telling) add(p *proc, e wire.Event) {
	e.PID, e.Birth = p.pid, p.birth
	if e.Kind == wire.EventSpawned {
		p.starting = false
	}
	p.known = state(p.known, &e)
	t.events, t.states = append(t.events, e), append(t.states, p.known)
}

func (d *daemon) flush(t *telling) {
	for _, e := range t.events {
		d.node.sim.note("node %d: kind %d of %d (birth %d), parent %d", d.node.id, e.Kind, e.PID, e.Birth, e.Parent)
	}
	in := slave.Told{Events: wire.Events{First: d.next, Events: t.events}, States: t.states, Position: uint64(d.read)}
	d.next += uint64(len(t.events))
	d.step(in)
}

// takes handles a word of init, after everything that the kernel has recorded. Init does not report
// the birth: it means the last process with the number that the front end has started.
func (d *daemon) takes(w word) {
	p := d.known[w.p.pid]
	if _, is := d.core.Known()[w.p.pid]; !is {
		if w.ended || w.failed {
			d.step(slave.Reaped{PID: w.p.pid})
		}
		return
	}
	if p != w.p {
		d.node.sim.fail("what init says of %d (birth %d) is taken for what it says of birth %d", p.pid, w.p.birth, p.birth)
	}
	switch {
	case w.failed:
		if p.starting {
			d.node.sim.note("node %d: %d is not started", d.node.id, p.pid)
			d.tellAll(p, wire.Event{Kind: wire.EventSpawned, Stage: wire.StageExec, Errno: uint32(unix.ENOENT)})
		}
	case w.ended:
		d.step(slave.Reaped{PID: p.pid})
		d.tellAll(p, wire.Event{Kind: wire.EventExited, Status: w.status, WithNode: w.withNode})
	default:
		d.started(p)
	}
}

// started tells that a process runs.
func (d *daemon) started(p *proc) {
	d.step(slave.Spawned{PID: p.pid})
	if p.starting {
		d.tellAll(p, wire.Event{Kind: wire.EventSpawned})
	}
}

// tellAll tells everything that the kernel has recorded, and an event.
func (d *daemon) tellAll(p *proc, e wire.Event) {
	d.tell(len(d.node.records))
	if e.Kind == wire.EventSpawned && !p.starting {
		return
	}
	var t telling
	if p.starting && e.Kind == wire.EventExited {
		t.add(p, wire.Event{Kind: wire.EventSpawned})
	}
	t.add(p, e)
	d.flush(&t)
}

// settle ends the launches that init may not have been asked for. Init has reported what it knows.
func (d *daemon) settle() {
	for _, pid := range d.unsure {
		p := d.known[pid]
		if k, is := d.core.Known()[pid]; !is || !k.Starting {
			continue // it was told
		}
		p.ended = true
		p.client.started = nil
		d.step(slave.Unasked{PID: pid})
	}
	d.unsure = nil
}

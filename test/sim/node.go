package sim

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// node is a node with its kernel, its slave and what that keeps for the master.
type node struct {
	sim     *Sim
	id      wire.NodeID
	booted  int
	procs   map[wire.PID]*proc
	next    wire.PID
	blocks  []wire.Block
	heard   time.Time // from the master
	link    *link     // nil: none
	leaving bool

	// Events that the master is not known to be done with, and the processes that there were
	// before them.
	log  []wire.Event
	base map[wire.PID]*proc

	calls  map[uint64]*wire.Call // without an answer
	number uint64                // of the last call
}

// proc is a process of a node.
type proc struct {
	pid, parent wire.PID
	birth       uint64
	node        *node
	booted      int     // in which boot of it
	client      *client // that has started it; nil: forked
	runs        bool    // Spawned is noted
	ended       bool
	status      wire.Status
	taken       uint64 // number of the last signal
	got         []uint64
}

// link is a session as both ends have it.
type link struct {
	id       core.Session
	node     *node
	down, up []any // core.ToNode, wire.Message
	spawns   []*client
	last     uint64 // number of the last event told in it
	closed   bool   // by the master
	isCut    bool
}

func newNode(s *Sim, id wire.NodeID) *node {
	return &node{sim: s, id: id, procs: map[wire.PID]*proc{}, base: map[wire.PID]*proc{}, heard: s.now, calls: map[uint64]*wire.Call{}}
}

func (n *node) key() string { return fmt.Sprint("node ", n.id) }

// lives has something happen on the node.
func (n *node) lives() {
	if n.link == nil {
		if n.sim.chance(3) {
			n.connect()
		}
		return
	}
	switch n.sim.rng.IntN(10) {
	case 0, 1, 2, 3:
		n.forks()
	case 4, 5:
		if p := n.any(); p != nil {
			n.end(p, wire.ExitStatus(n.sim.rng.IntN(200)))
		}
	case 6, 7:
		for _, p := range n.inOrder() {
			if !p.runs {
				n.starts(p)
				return
			}
		}
	case 8:
		n.asks()
	case 9:
		if len(n.freeNumbers()) < 8 {
			n.say(&wire.BlocksWanted{Blocks: 1})
		}
	}
}

func (n *node) inOrder() (all []*proc) {
	for _, pid := range slices.Sorted(maps.Keys(n.procs)) {
		all = append(all, n.procs[pid])
	}
	return all
}

// any returns one of the processes that run.
func (n *node) any() *proc {
	var all []*proc
	for _, p := range n.inOrder() {
		if p.runs {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return pick(n.sim.rng, all)
}

// fewNumbers is how many numbers of a block the kernel gives: so they are soon another's.
const fewNumbers = 16

// freeNumbers returns the numbers that the kernel can give.
func (n *node) freeNumbers() (free []wire.PID) {
	for _, b := range n.blocks {
		for pid := b.First; pid < b.First+fewNumbers; pid++ {
			if n.procs[pid] == nil {
				free = append(free, pid)
			}
		}
	}
	slices.Sort(free)
	return free
}

// forks has a process fork. The kernel gives the next number that is free.
func (n *node) forks() {
	p, free := n.any(), n.freeNumbers()
	if p == nil || len(free) == 0 || len(n.procs) > 30 || n.sim.quiet {
		return
	}
	pid := free[0]
	if i := slices.IndexFunc(free, func(pid wire.PID) bool { return pid > n.next }); i >= 0 {
		pid = free[i]
	}
	n.next = pid
	n.sim.births++
	child := &proc{pid: pid, parent: p.pid, birth: n.sim.births, node: n, runs: true}
	n.procs[pid] = child
	n.tell(wire.Event{Kind: wire.EventForked, PID: pid, Parent: p.pid, Birth: child.birth})
}

// starts has a process that was asked for run, or not.
func (n *node) starts(p *proc) {
	e := wire.Event{Kind: wire.EventSpawned, PID: p.pid, Birth: p.birth}
	if n.sim.chance(10) {
		e.Stage, e.Errno = wire.StageExec, uint32(unix.ENOENT)
		p.ended, p.status = true, wire.ExitStatus(127)
		delete(n.procs, p.pid)
		p.client.started = nil // it can be tried again
	}
	p.runs = true
	n.tell(e)
}

// end ends a process. Its children go to init.
func (n *node) end(p *proc, status wire.Status) {
	p.ended, p.status = true, status
	delete(n.procs, p.pid)
	if !p.runs { // killed while it was started
		n.tell(wire.Event{Kind: wire.EventSpawned, PID: p.pid, Birth: p.birth})
	}
	n.tell(wire.Event{Kind: wire.EventExited, PID: p.pid, Birth: p.birth, Status: status})
}

// tell notes an event, and tells it if there is a session.
func (n *node) tell(e wire.Event) {
	n.sim.note("node %d: kind %d of %d (birth %d), parent %d", n.id, e.Kind, e.PID, e.Birth, e.Parent)
	n.log = append(n.log, e)
	if l := n.link; l != nil {
		l.last++
		l.up = append(l.up, &wire.Events{First: l.last, Events: []wire.Event{e}})
	}
}

func (n *node) say(m wire.Message) {
	if n.link != nil {
		n.link.up = append(n.link.up, m)
	}
}

// connect begins a session.
func (n *node) connect() {
	if len(n.procs) == 0 {
		n.blocks = nil // what is idle claims nothing
	}
	n.sim.sessions++
	l := &link{id: n.sim.sessions, node: n, last: uint64(len(n.log))}
	n.link, n.heard = l, n.sim.now
	n.sim.links[l.id] = l
	inventory := wire.Inventory{Blocks: slices.Clone(n.blocks), Again: uint64(len(n.log))}
	for _, pid := range slices.Sorted(maps.Keys(n.base)) {
		p := n.base[pid]
		inventory.PIDs = append(inventory.PIDs, pid)
		inventory.Births = append(inventory.Births, p.birth)
		inventory.Parents = append(inventory.Parents, 0)
		if p.client != nil && !n.told(p) {
			inventory.Starting = append(inventory.Starting, pid)
		}
	}
	n.sim.note("node %d connects: %v, %d events again", n.id, inventory.PIDs, len(n.log))
	for i, e := range n.log {
		n.sim.note("    again %d: kind %d of %d (birth %d), parent %d", i+1, e.Kind, e.PID, e.Birth, e.Parent)
	}
	n.sim.step(core.NodeUp{Session: l.id, Peer: core.Peer{Key: n.key(), BootID: fmt.Sprint(n.booted)}, Inventory: inventory, Again: slices.Clone(n.log)})
	for _, number := range slices.Sorted(maps.Keys(n.calls)) {
		l.up = append(l.up, asked{number, n.calls[number]})
	}
}

// told reports whether the master is done with the start of a process.
func (n *node) told(p *proc) bool {
	return p.runs && !slices.ContainsFunc(n.log, func(e wire.Event) bool { return e.Kind == wire.EventSpawned && e.Birth == p.birth })
}

// forget forgets the first events: the master is done with them.
func (n *node) forget(events int) {
	for _, e := range n.log[:events] {
		switch e.Kind {
		case wire.EventForked:
			n.base[e.PID] = &proc{pid: e.PID, birth: e.Birth, node: n, runs: true}
		case wire.EventExited:
			delete(n.base, e.PID)
		case wire.EventSpawned:
			if e.Errno != 0 {
				delete(n.base, e.PID)
			}
		}
	}
	n.log = n.log[events:]
}

// hears handles a message of the master.
func (n *node) hears(o core.ToNode) {
	switch m := o.Message.(type) {
	case *wire.BlocksGranted:
		n.blocks = append(n.blocks, m.Blocks...)
	case *wire.Progress:
		n.forget(len(n.log) - int(n.link.last-m.Event))
	case *wire.Signal:
		n.signal(m)
	case *wire.KillAll:
		n.killAll()
	case *wire.Return:
		delete(n.calls, o.Number)
	}
}

// signal gives a process a signal.
func (n *node) signal(m *wire.Signal) {
	sig := unix.Signal(binary.LittleEndian.Uint32(m.Info))
	p := n.procs[m.PID]
	seen := m.Seen
	if m.Group && sig == unix.SIGKILL {
		seen++ // that was the birth of a process whose ghost could not be made
	}
	if p != nil && n.bornAfter(p, seen) {
		p = nil
	}
	if m.Seq != 0 {
		defer n.say(&wire.SignalsTaken{Marks: []wire.Mark{{PID: m.PID, Seq: m.Seq}}, Boot: boot})
	}
	n.sim.note("node %d: signal %v for %d, number %d, seen %d, group %v", n.id, sig, m.PID, m.Seq, m.Seen, m.Group)
	if p == nil || m.Seq != 0 && m.Seq <= p.taken {
		return
	}
	if m.Seq != 0 {
		p.taken = m.Seq
		p.got = append(p.got, m.Seq)
		n.sim.arrived(p, m.Seq, sig)
	}
	if sig == unix.SIGKILL || sig == unix.SIGTERM {
		n.end(p, wire.SignalStatus(int(sig)))
	}
}

// bornAfter reports whether the birth of a process is told after an event with some number.
func (n *node) bornAfter(p *proc, event uint64) bool {
	first := n.link.last - uint64(len(n.log)) // event before the log
	for i, e := range n.log {
		if e.Kind == wire.EventForked && e.Birth == p.birth {
			return first+uint64(i)+1 > event
		}
	}
	return false
}

func (n *node) killAll() {
	for _, p := range n.inOrder() {
		n.end(p, wire.SignalStatus(int(unix.SIGKILL)))
	}
}

// asks has a process send a signal to another one, wherever that is.
func (n *node) asks() {
	p := n.any()
	ghosts := n.sim.keeper.ghosts()
	if p == nil || len(ghosts) == 0 || n.sim.quiet {
		return
	}
	n.number++
	m := &wire.Call{Caller: p.pid, Op: wire.CallKill, Args: []int64{int64(pick(n.sim.rng, ghosts).pid), int64(unix.SIGUSR2)}}
	if n.sim.chance(2) {
		m = &wire.Call{Caller: p.pid, Op: wire.CallGetppid}
	}
	n.calls[n.number] = m
	n.link.up = append(n.link.up, asked{n.number, m})
}

// asked is a request of a node, with its number.
type asked struct {
	number uint64
	call   *wire.Call
}

// timePasses has the slave look at its lease, and at its link.
func (n *node) timePasses() {
	l := n.link
	if l != nil && !l.isCut && !l.closed {
		n.heard = n.sim.now
		return
	}
	if n.sim.now.Sub(n.heard) > lease && len(n.procs) > 0 {
		n.sim.note("lease of node %d", n.id)
		n.killAll()
	}
}

// drop forgets the session on this side: the master is not there any more.
func (n *node) drop() { n.link = nil }

// loseSession ends the session.
func (n *node) loseSession(kind string) {
	if n.link == nil {
		return
	}
	if kind != "" {
		n.sim.fault(kind, n.id)
	}
	l := n.link
	n.link = nil
	delete(n.sim.links, l.id)
	n.sim.step(core.NodeLost{Session: l.id, Cause: core.ErrUnexpected})
}

func (n *node) cut() {
	if l := n.link; l != nil && !l.isCut {
		n.sim.fault("cut", n.id)
		l.isCut = true
		n.sim.step(core.NodeCut{Session: l.id})
	}
}

func (n *node) heal() {
	if l := n.link; l != nil && l.isCut && !l.closed {
		l.isCut = false
		n.sim.step(core.NodeHealed{Session: l.id})
	}
}

// restart has another daemon take the place of the slave's: what it keeps, it finds.
func (n *node) restart() { n.loseSession("slave dies") }

// reboot starts the machine anew: nothing is left on it.
func (n *node) reboot() {
	n.sim.fault("node reboots", n.id)
	n.loseSession("")
	for _, p := range n.procs {
		p.ended, p.status = true, wire.SignalStatus(int(unix.SIGKILL))
	}
	clear(n.procs)
	clear(n.base)
	clear(n.calls)
	n.log, n.blocks = nil, nil
	n.booted++
}

// calm has the node come back, start what is to be started and, in the end, end what runs.
func (n *node) calm(ends bool) {
	if n.link == nil {
		n.connect()
		return
	}
	for _, p := range n.inOrder() {
		if !p.runs {
			n.starts(p)
		}
	}
	if p := n.any(); p != nil && ends {
		n.end(p, wire.ExitStatus(0))
	}
}

// deliver has a message arrive.
func (s *Sim) deliver() {
	n := pick(s.rng, s.nodes)
	l := n.link
	if l == nil {
		return
	}
	if l.closed {
		n.loseSession("")
		return
	}
	if l.isCut {
		return
	}
	switch s.rng.IntN(3) {
	case 0:
		if len(l.down) > 0 {
			o := l.down[0].(core.ToNode)
			l.down = l.down[1:]
			n.hears(o)
		}
	case 1:
		if len(l.up) > 0 {
			m := l.up[0]
			l.up = l.up[1:]
			in := core.FromNode{Session: l.id}
			switch m := m.(type) {
			case asked:
				in.Number, in.Message = m.number, m.call
			case wire.Message:
				in.Message = m
			}
			s.step(in)
		}
	case 2:
		if len(l.spawns) > 0 {
			c := l.spawns[0]
			l.spawns = l.spawns[1:]
			n.spawn(c)
		}
	}
}

// spawn takes a request for a process.
func (n *node) spawn(c *client) {
	if p := n.procs[c.ghost]; p != nil {
		if p.birth != c.launch {
			n.sim.fail("node %d is asked for process %d, which is another", n.id, c.ghost)
		}
		return
	}
	if p := c.started; p != nil && p.node == n && p.booted == n.booted {
		return // it has ended already
	}
	p := &proc{pid: c.ghost, birth: c.launch, node: n, booted: n.booted, client: c}
	c.started = p
	n.procs[p.pid], n.base[p.pid] = p, p
}

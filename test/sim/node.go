package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	slave "bproc/slave/core"
	"bproc/wire"
)

// node is a node with its kernel, its init and its slave.
type node struct {
	sim    *Sim
	id     wire.NodeID
	home   wire.Block
	booted int     // number of its process space: times that it was emptied
	boots  int     // times that the machine was started
	slave  *daemon // nil: none
	link   *link   // nil: none

	// The kernel. It records births and ends of processes that init has not started.
	procs    map[wire.PID]*proc
	next     wire.PID
	blocks   []wire.Block
	records  []record
	released int               // number of these that slaves have told, and that are not read again
	calls    map[uint64]*asked // that have no answer yet
	number   uint64            // of the last call

	served map[uint32]bool // users for whom something was started
	shares map[uint32]uint64
	rooms  map[room]uint64
	bounds []*wire.Budget // of groups, that are not answered

	line        line
	sets        int  // number of changes of line
	identity    int  // number of its joins
	revoked     bool // it must join again
	goesDown    bool
	leaving     bool
	certificate core.Validity

	init     *initProcess
	linked   time.Time // when something last arrived over the link
	heard    time.Time // when that last was in a session that the master's core knows
	expired  bool      // the lease has run out since the node got its numbers
	journal  []slave.Record
	confirms uint64
}

// proc is a process of a node.
type proc struct {
	pid      wire.PID
	birth    uint64
	node     *node
	booted   int     // space of the node in which it was born
	client   *client // that has started it; nil: it was forked
	maker    *proc   // nil: it was started
	runs     bool
	ended    bool
	status   wire.Status
	withNode bool // it was killed with all processes of its node
	waits    bool // for the answer to a call
	looks
	again bool   // it was started in an earlier session, and its ghost has changed since
	room  room   // in which it was started
	taken uint64 // number of the last signal

	// What the slave has told, or will tell.
	announced bool
	known     slave.Known // what was told of it
	starting  bool        // its Spawned is still to be told
	told      uint64      // number of the event of its birth in this session; 0: told earlier
}

// record is a record of the kernel.
type record struct {
	p     *proc
	event wire.Event
}

func newNode(s *Sim, id wire.NodeID) *node {
	n := &node{sim: s, id: id, procs: map[wire.PID]*proc{}, linked: s.now, heard: s.now, calls: map[uint64]*asked{}, served: map[uint32]bool{}, shares: map[uint32]uint64{}, rooms: map[room]uint64{}}
	n.init = &initProcess{node: n, kept: map[wire.PID]word{}}
	return n
}

func (n *node) key() string    { return fmt.Sprint("node ", n.id, ".", n.identity) }
func (n *node) bootID() string { return fmt.Sprint(n.boots) }

// space is the identity of the process space.
func (n *node) space() uint64 { return uint64(n.id)<<32 | uint64(n.booted+1) }

// lives makes something happen on the node.
func (n *node) lives() {
	if n.sim.chance(10) {
		n.givesBack()
	}
	switch n.sim.rng.IntN(26) {
	case 24, 25:
		n.sim.nests()
	case 20, 21, 22:
		n.changes()
	case 0, 1, 2, 3:
		n.forks()
	case 4, 5:
		if p := n.any(); p != nil {
			n.end(p, wire.ExitStatus(n.sim.rng.IntN(200)))
		}
	case 6, 7:
		n.init.startsNext()
	case 8:
		n.asks()
	case 9:
		if n.chanceOfStorm() {
			n.storms()
		}
		n.asksForNumbers()
	case 10, 11, 12:
		n.init.works()
	default:
		n.slaveWorks()
	}
}

// slaveWorks makes the slave act: begin, connect or handle its inputs.
func (n *node) slaveWorks() {
	switch {
	case n.goesDown && n.sim.chance(3):
		n.reboot()
	case n.leaving && n.sim.chance(3):
		n.leaves()
	case n.slave == nil:
		if n.sim.chance(3) {
			n.begin()
		}
	case n.link == nil && n.slave.settled() && n.sim.chance(3):
		n.connect()
	default:
		n.slave.works()
	}
}

func (n *node) inOrder() (all []*proc) {
	for _, pid := range slices.Sorted(maps.Keys(n.procs)) {
		all = append(all, n.procs[pid])
	}
	return all
}

// any returns a running process.
func (n *node) any() *proc {
	var all []*proc
	for _, p := range n.inOrder() {
		if p.runs && p.stop == 0 && !p.waits {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return pick(n.sim.rng, all)
}

// forks makes a process fork. The kernel gives a free number.
func (n *node) forks() {
	p, free := n.any(), n.freeNumbers()
	if p == nil || !n.hasRoom(p) || len(free) == 0 || len(n.procs) > 60 || n.sim.quiet {
		return
	}
	pid := free[0]
	if i := slices.IndexFunc(free, func(pid wire.PID) bool { return pid > n.next }); i >= 0 {
		pid = free[i]
	}
	n.next = pid
	n.sim.births++
	child := &proc{pid: pid, birth: n.sim.births, node: n, booted: n.booted, maker: p, runs: true, looks: p.looks, room: p.room}
	n.procs[pid] = child
	n.sim.note("node %d: %d (birth %d) is born of %d", n.id, pid, child.birth, p.pid)
	n.records = append(n.records, record{child, wire.Event{Kind: wire.EventForked, PID: pid, Birth: child.birth, Parent: p.pid}})
}

var killed = wire.SignalStatus(int(unix.SIGKILL))

// end ends a process.
func (n *node) end(p *proc, status wire.Status) {
	n.sim.note("node %d: %d (birth %d) ends with %v", n.id, p.pid, p.birth, status)
	p.ended, p.status = true, status
	delete(n.procs, p.pid)
	if p.waits {
		n.leavesCall(p)
	}
	n.leaveNested(p)
	n.isBounded()
	if p.client == nil {
		if n.sim.chance(4) {
			n.records = append(n.records, record{p, wire.Event{Kind: wire.EventZombie, PID: p.pid, Birth: p.birth, Status: status}})
		}
		n.records = append(n.records, record{p, wire.Event{Kind: wire.EventExited, PID: p.pid, Birth: p.birth, Status: status}})
		return
	}
	if !p.runs { // killed while it was started
		p.runs = true
		n.init.says(word{p: p})
	}
	n.init.says(word{p: p, ended: true, status: status, withNode: p.withNode})
}

func (n *node) killAll() {
	for _, p := range n.inOrder() {
		p.withNode = true
		n.end(p, killed)
	}
}

// gets delivers a signal of the front end to a process. Init delivers it once.
func (n *node) gets(m *wire.Signal) {
	sig := signalOf(m)
	p := n.procs[m.PID]
	n.sim.note("node %d: signal %v for %d, number %d", n.id, sig, m.PID, m.Seq)
	if p == nil {
		n.sim.tooLate(m)
		return
	}
	if m.Seq != 0 && m.Seq <= p.taken {
		return
	}
	if m.Seq != 0 {
		p.taken = m.Seq
		n.sim.arrived(p, m.Seq, sig)
	}
	n.takesEffect(p, sig)
}

// timePasses has the slave check its lease, and init its deadline.
func (n *node) timePasses() {
	if l := n.link; l != nil && !l.isCut && !l.closed {
		n.linked = n.sim.now
		if l.served {
			n.heard = n.sim.now
		}
	}
	n.expired = n.expired || n.sim.now.Sub(n.heard) > lease
	if n.slave != nil {
		n.slave.step(slave.Heard{At: n.linked, Lease: lease})
		n.slave.step(slave.News{})
	}
	n.init.timePasses()
}

// restart ends the slave. Its last requests to init arrive, or are lost.
func (n *node) restart() {
	if n.slave == nil {
		return
	}
	n.sim.fault("slave dies", n.id)
	n.loseSession("")
	n.slave = nil
	n.init.lost()
}

// reboot restarts the machine, or the slave with its space: nothing is left on it.
func (n *node) reboot() {
	if n.sim.chance(2) { // the slave has ended with all processes, and could not tell
		n.sim.fault("space ends", n.id)
		n.loseSession("")
		n.empty()
		return
	}
	n.sim.fault("node reboots", n.id)
	n.loseSession("")
	n.wipe()
}

// wipe starts the machine anew, or another one in its place.
func (n *node) wipe() {
	n.empty()
	n.boots++
}

// empty removes everything that a machine has.
func (n *node) empty() {
	for _, p := range n.inOrder() {
		p.ended, p.status, p.withNode = true, killed, true
		n.leaveNested(p)
	}
	clear(n.procs)
	clear(n.calls)
	n.init = &initProcess{node: n, kept: map[wire.PID]word{}}
	n.slave, n.blocks, n.records, n.released, n.journal, n.confirms = nil, nil, nil, 0, nil, 0
	clear(n.shares)
	clear(n.rooms)
	n.bounds, n.goesDown, n.leaving = nil, false, false
	n.booted++
}

// calm has the node come back, start what was requested and, in the end, end its processes.
func (n *node) calm(ends bool) {
	if n.slave == nil {
		n.begin()
	}
	for range 10 {
		n.init.works()
		n.init.startsNext()
		n.slave.works()
	}
	if n.link == nil {
		if n.slave.settled() {
			n.connect()
		}
		return
	}
	if all := n.inOrder(); ends && len(all) > 0 && all[0].runs {
		n.end(all[0], wire.ExitStatus(0))
	}
	if ends {
		n.givesBack()
	}
}

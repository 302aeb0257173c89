package master

import (
	"cmp"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// sender takes messages for a peer and never waits.
type sender interface {
	Put(number uint64, m wire.Message) error
}

// core is the state machine. All its methods are called by one goroutine.
type core struct {
	log    *slog.Logger
	lease  time.Duration
	nodes  *nodeTable
	procs  map[wire.PID]*proc
	onNode map[wire.NodeID]map[wire.PID]*proc // the same, by node
	alloc  *pidmap.Allocator
	blocks *blockTable
	keeper sender
	boot   uint64 // of the front end, as the keeper says

	authority certifier // nil: nothing expires

	births *births

	front frontEnd
	jobs  chan func() func() // to the worker; holds one
	slow  []func() func()    // that wait for it
	busy  bool               // it has one

	maxEnds int
	ends    map[*call]*os.File             // processes for whose ends calls wait
	atEnd   func(f *os.File, ended func()) // has the core do something when a process has ended

	asked map[uint64]func(unix.Errno) // requests to the keeper without an answer
	next  uint64                      // number of the next of them
	again []func()                    // requests to be made once more, when the next keeper has its ghosts

	budgets    map[uint32]*budget // by user
	unshared   []*budget          // whose shares are to be told
	tasks      taskTree           // nil: nothing bounds tasks
	ghosts     string             // their control group; empty: that of who has started the process
	taskGroups map[uint64]*taskGroup
	bounds     map[string]*taskGroup // by control group: the innermost that bounds its tasks, as far as that was asked for since the last tick
	allotments map[allotmentKey]*allotment
	crowded    []*taskGroup // in which there is more or less room
	argvs      argvs
	served     map[wire.NodeID]map[uint32]bool // users for whom something was started on nodes
	squash     uint32                          // as whom users appear of whom a node is not believed to have processes
	behind     []*session                      // that are to be told how far the front end is
	groupCalls map[groupCall]*underWay
	answers    map[wire.NodeID]*answers
	marks      []wire.Mark // that the keeper is to be told

	found        map[wire.PID]*signals // ghosts of a former master that no node has claimed, and what they got
	foundAt      time.Time
	settled      bool                      // what nobody has claimed by now is given up
	foundHow     map[wire.PID]wire.Adopted // and how they were adopted
	foundStopped []wire.PID                // of all ghosts that the keeper had when it came, in order
	delayed      []func()                  // launches that wait until there is none

	clock       time.Time // of the last tick
	settleUntil time.Time // nodes may not have come yet
	returnUntil time.Time // and for what was there before
	waiters     map[wire.NodeID][]waiter
	absent      map[wire.PID]time.Time // processes whose clients are to come back, and since when
}

func newCore(log *slog.Logger, lease time.Duration, nodes *nodeTable, alloc *pidmap.Allocator, keeper sender) *core {
	return &core{
		log: log, lease: lease, nodes: nodes, alloc: alloc, blocks: &blockTable{of: map[wire.NodeID][]wire.Block{}}, keeper: keeper, births: newBirths(time.Now()), front: kernel{},
		jobs:  make(chan func() func(), 1),
		procs: map[wire.PID]*proc{}, onNode: map[wire.NodeID]map[wire.PID]*proc{},
		asked: map[uint64]func(unix.Errno){}, ends: map[*call]*os.File{}, maxEnds: roomForEnds(),
		found: map[wire.PID]*signals{}, foundHow: map[wire.PID]wire.Adopted{}, absent: map[wire.PID]time.Time{}, waiters: map[wire.NodeID][]waiter{},

		served:     map[wire.NodeID]map[uint32]bool{},
		squash:     overflowUser,
		answers:    map[wire.NodeID]*answers{},
		budgets:    map[uint32]*budget{},
		taskGroups: map[uint64]*taskGroup{},
		bounds:     map[string]*taskGroup{},
		allotments: map[allotmentKey]*allotment{},
		groupCalls: map[groupCall]*underWay{},
	}
}

// ask sends a request to the keeper; answer is called with what it says. EPIPE
// means that the keeper is another one now, and that the request may have been
// carried out or not: a keeper that takes no message is about to be replaced.
func (c *core) ask(m wire.Message, answer func(unix.Errno)) {
	c.next++
	c.asked[c.next] = answer
	if err := c.keeper.Put(c.next, m); err != nil {
		c.log.Warn("keeper does not take a request", "msg", m.Type(), "err", err)
	}
}

// tell sends a request to the keeper that has no answer.
func (c *core) tell(m wire.Message) {
	if err := c.keeper.Put(0, m); err != nil {
		c.log.Error("keeper does not take a message", "err", err)
	}
}

// request sends the keeper a request about the ghost of p; answer may be nil.
func (c *core) request(p *proc, m wire.Message, answer func(unix.Errno)) {
	c.inTurn(p, func() {
		if answer == nil {
			c.tell(m)
		} else {
			c.ask(m, answer)
		}
	})
}

// inTurn does something that is to be done after all requests about the ghost of p
// so far.
func (c *core) inTurn(p *proc, do func()) {
	if p.gates > 0 || len(p.waiting) > 0 {
		p.waiting = append(p.waiting, do)
		return
	}
	do()
}

// repeated is request for something that can be done twice: if the keeper is lost
// before it has answered, the next one is asked.
func (c *core) repeated(p *proc, m wire.Message, answer func(unix.Errno)) {
	c.series(p, []wire.Message{m}, answer)
}

// series is repeated for requests, of which the last is answered when all are carried
// out. If one fails, answer is called with that.
func (c *core) series(p *proc, all []wire.Message, answer func(unix.Errno)) {
	last := len(all) - 1
	var ask func()
	ask = func() {
		var failed unix.Errno
		for _, m := range all[:last] {
			c.request(p, m, func(errno unix.Errno) { failed = cmp.Or(failed, errno) })
		}
		c.request(p, all[last], func(errno unix.Errno) {
			switch {
			case errno != unix.EPIPE:
				answer(cmp.Or(failed, errno))
			case p.state == ending || !p.ghost:
				answer(unix.ESRCH)
			default:
				c.again = append(c.again, ask)
			}
		})
	}
	ask()
}

// open opens one of the gates before the requests about a ghost.
func (c *core) open(p *proc) {
	p.gates--
	for p.gates == 0 && len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting = p.waiting[1:]
		next()
	}
	if len(p.waiting) == 0 {
		p.waiting = nil
	}
}

// fromKeeper handles a message of the keeper.
func (c *core) fromKeeper(number uint64, m wire.Message) {
	switch m := m.(type) {
	case *wire.GhostDone:
		answer, ok := c.asked[number]
		delete(c.asked, number)
		if ok {
			answer(unix.Errno(m.Errno))
		}
	case *wire.GhostSignal:
		c.signal(m)
	case *wire.GhostGone:
		c.ghostGone(m)
	default:
		c.log.Warn("keeper sent a message that it should not", "msg", m.Type())
	}
}

// keeperLost answers what the keeper will not answer any more, in the order in
// which it was asked. The answers may lead to requests to the next one.
func (c *core) keeperLost(next sender) {
	asked := c.asked
	c.keeper, c.asked = next, map[uint64]func(unix.Errno){}
	for _, number := range slices.Sorted(maps.Keys(asked)) {
		asked[number](unix.EPIPE)
	}
}

// ghostGone forgets a process whose ghost has ended. A ghost that ended without
// being asked to takes its process with it: there is nothing left to wait for
// it, or to signal it by.
func (c *core) ghostGone(m *wire.GhostGone) {
	c.unfind(m.PID)
	p := c.procs[m.PID]
	if p == nil {
		return
	}
	if p.former != nil {
		c.formerGone(p)
		return
	}
	if !m.Asked && p.state != ending {
		about := []any{"pid", m.PID, "status", uint32(m.Status)}
		if g := c.full(p); g != nil { // it waited for room, perhaps, and there was none
			about = append(about, g.remedy()...)
		}
		c.log.Warn("a ghost ended before its process; the process is killed", about...)
		p.kill()
		p.ghost = false
		return
	}
	c.remove(p)
	p.ghostGone()
}

// formerGone goes on with the second oldest process of a number: the ghost of
// the oldest has ended.
func (c *core) formerGone(p *proc) {
	for p.former.former != nil {
		p = p.former
	}
	former := p.former
	p.former = nil
	c.open(p)
	former.ghostGone()
}

func (c *core) remove(p *proc) {
	delete(c.procs, p.pid)
	delete(c.onNode[p.node], p.pid)
	c.discharge(p)
	c.leave(p)
	if n := c.nodes.byID[p.node]; n != nil {
		n.procs--
	}
}

func (c *core) add(p *proc, limit uint64) {
	c.procs[p.pid] = p
	if c.onNode[p.node] == nil {
		c.onNode[p.node] = map[wire.PID]*proc{}
	}
	c.onNode[p.node][p.pid] = p
	c.charge(p, limit)
	if n := c.nodes.byID[p.node]; n != nil {
		n.procs++
		c.serve(p.node, p.starter)
	}
	c.births.add()
}

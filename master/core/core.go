package core

import (
	"cmp"
	"time"

	"bproc/pidmap"
	"bproc/wire"
)

// Core is the state machine. Only one goroutine at a time may call its methods.
type Core struct {
	log    logger
	out    []Output
	clock  time.Time // of the input
	config Config

	nodes    *nodeTable
	sessions map[Session]*session
	procs    map[wire.PID]*proc
	onNode   map[wire.NodeID]map[wire.PID]*proc // the same, by node
	alloc    *pidmap.Allocator
	blocks   *blockTable
	lending  []*session // that get blocks when there are no orphans any more

	// Requests to the keeper, questions to the front end's kernel and records for the store that
	// are not answered.
	boot    uint64 // of the front end, as the keeper says
	number  uint64 // of the last request, question or record
	asked   map[uint64]reply
	asks    map[uint64]told
	keeps   map[uint64]kept
	again   []repeat // to be made once more, when the next keeper has its ghosts
	blocked []*proc  // processes whose requests wait for that
	ends    int      // calls that wait for the end of a process

	budgets    map[uint32]*budget // by user
	unshared   []*budget          // whose shares are to be told
	taskGroups map[uint64]*taskGroup
	allotments map[allotmentKey]*allotment
	crowded    []*taskGroup // in which there is more or less room
	argvs      argvs
	served     map[wire.NodeID]map[uint32]bool // users for whom something was started on nodes
	behind     []*session                      // that are to be told how far the front end is
	groupCalls map[groupCall]*underWay
	answers    map[wire.NodeID]*answers
	marks      []wire.Mark // that the keeper is to be told
	news       bool        // the daemon knows that there is something to be told soon

	orphans        map[wire.PID]*orphan // ghosts of a former master that no node has claimed
	orphansAt      time.Time            // when the keeper said which there are
	settled        bool                 // what nobody has claimed by now is given up
	orphansStopped []wire.PID           // of all ghosts that the keeper had when it came, in order
	delayed        []task               // launches that wait until there is none

	attempts uint64               // at set-ups of nodes, so far
	unkept   map[wire.NodeID]bool // nodes whose state is to be kept

	settleUntil time.Time // nodes may not have come yet
	returnUntil time.Time // and for what was there before
	waiters     map[wire.NodeID][]waiter
	absent      map[wire.PID]time.Time // processes whose clients are to come back, and since when
	reports     map[wire.PID]report    // of such as have ended
}

// Config is what a core knows from the beginning.
type Config struct {
	Now         time.Time
	Lease       time.Duration
	Numbers     pidmap.Config     // for what process numbers are laid out
	Nodes       map[string][]byte // records of the table of nodes, as [Keep] has them
	Blocks      map[string][]byte // of the table of blocks
	Named       []Named           // nodes of the configuration
	Rights      *Rights           // of nodes that join for the first time; nil: everybody's, and root is the owner
	Squash      uint32            // as whom users appear of whom a node is not believed to have processes; 0: the kernel's overflow user
	Certificate time.Duration     // the life of a slave's; 0: none expires
	TaskGroups  bool              // control groups bound tasks on the front end
	Ghosts      string            // control group for ghosts; empty: that of who has started the process
	MaxEnds     int               // bound on processes for whose ends calls wait
	SetUp       bool              // nodes are set up when they connect
	PowerTime   time.Duration     // within which a node goes down that was told to; 0: the usual
}

// Named is a node of the configuration.
type Named struct {
	ID   wire.NodeID
	Name string // under which it joins; empty: any
	Addr string // from which it joins; empty: any
}

// Rights say who may start processes on a node.
type Rights struct {
	Mode uint32
	UID  uint32
	GID  uint32
}

func (cfg *Config) rights() Rights {
	if cfg.Rights == nil {
		return Rights{Mode: 0o111}
	}
	return *cfg.Rights
}

// New returns a core that knows no session, process or client yet. An error says which
// record cannot be read; the core is good without the numbers that cannot be kept for
// their nodes, of which its first outputs tell.
func New(cfg Config) (*Core, error) {
	nodes, err := loadNodes(cfg.Nodes, cfg.Named, cfg.rights(), cfg.Now)
	if err != nil {
		return nil, err
	}
	blocks, err := loadBlocks(cfg.Blocks)
	if err != nil {
		return nil, err
	}
	alloc, err := nodes.allocator(cfg.Numbers)
	if err != nil {
		return nil, err
	}
	cfg.Squash = cmp.Or(cfg.Squash, OverflowUser)
	cfg.PowerTime = cmp.Or(cfg.PowerTime, DefaultPowerTime)
	c := &Core{
		clock: cfg.Now, config: cfg, nodes: nodes, blocks: blocks, alloc: alloc,
		sessions: map[Session]*session{},
		procs:    map[wire.PID]*proc{}, onNode: map[wire.NodeID]map[wire.PID]*proc{},
		asked: map[uint64]reply{}, asks: map[uint64]told{}, keeps: map[uint64]kept{},
		orphans: map[wire.PID]*orphan{}, absent: map[wire.PID]time.Time{}, reports: map[wire.PID]report{}, waiters: map[wire.NodeID][]waiter{},
		served:      map[wire.NodeID]map[uint32]bool{},
		answers:     map[wire.NodeID]*answers{},
		budgets:     map[uint32]*budget{},
		taskGroups:  map[uint64]*taskGroup{},
		allotments:  map[allotmentKey]*allotment{},
		groupCalls:  map[groupCall]*underWay{},
		unkept:      map[wire.NodeID]bool{},
		settleUntil: cfg.Now.Add(settleTime), returnUntil: cfg.Now.Add(returnTime),
	}
	c.log.core = c
	if err := blocks.reserve(alloc); err != nil {
		c.log.Error("not all numbers can be kept for the nodes that have them", "err", err)
	}
	return c, nil
}

// Step takes one input, which came at a time, and returns what is to be done for it, in
// order. The outputs are the caller's. A question ([Ask]) and a record ([Keep]) are
// answered by another input; that of a record is the very next one, unless it may come later.
func (c *Core) Step(now time.Time, in Input) []Output {
	c.clock = now
	in.apply(c)
	c.keepSettled()
	if !c.news && c.hasNews() {
		c.news = true
		c.emit(Soon{})
	}
	out := c.out
	c.out = nil
	return out
}

func (c *Core) emit(o Output) { c.out = append(c.out, o) }

// task is something that is done later.
type task interface{ do(c *Core) }

// remove takes a process out of the table.
func (c *Core) remove(p *proc) {
	delete(c.procs, p.pid)
	delete(c.onNode[p.node], p.pid)
	c.discharge(p)
	c.leave(p)
	if n := c.nodes.byID[p.node]; n != nil {
		n.procs--
	}
}

// add enters a process.
func (c *Core) add(p *proc) {
	c.procs[p.pid] = p
	if c.onNode[p.node] == nil {
		c.onNode[p.node] = map[wire.PID]*proc{}
	}
	c.onNode[p.node][p.pid] = p
	c.charge(p)
	if n := c.nodes.byID[p.node]; n != nil {
		n.procs++
		c.serve(p.node, p.starter)
	}
	c.emit(Born{})
}

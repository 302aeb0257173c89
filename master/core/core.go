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
	clock  time.Time // time of the input
	config Config

	nodes    *nodeTable
	sessions map[Session]*session
	procs    map[wire.PID]*proc
	onNode   map[wire.NodeID]map[wire.PID]*proc // the same, by node
	alloc    *pidmap.Allocator
	blocks   *blockTable
	lending  []*session // sessions that get blocks when no orphans are left

	// Requests to the keeper, questions to the front end's kernel and records for the store that
	// have no answer yet.
	boot    uint64 // of the front end, from the keeper
	number  uint64 // of the last request, question or record
	asked   map[uint64]reply
	asks    map[uint64]told
	keeps   map[uint64]kept
	again   []repeat // requests that are made again when the next keeper has its ghosts
	blocked []*proc  // processes whose requests wait for these
	ends    int      // calls that wait for the end of a process

	budgets    map[uint32]*budget // by user
	unshared   []*budget          // budgets with shares that are to be told
	taskGroups map[uint64]*taskGroup
	allotments map[allotmentKey]*allotment
	crowded    []*taskGroup // groups in which there is more or less room
	reviewed   uint64       // the next group to be reviewed with a tick
	argvs      argvs
	served     map[wire.NodeID]map[uint32]bool // users for whom something was started, by node
	behind     []*session                      // sessions that are to be told how far the front end is
	groupCalls map[groupCall]*underWay
	answers    map[wire.NodeID]*answers
	marks      []wire.Mark // marks that are to be sent to the keeper
	news       bool        // Soon has been emitted, and News has not come yet

	orphans        map[wire.PID]*orphan       // ghosts of a former master that no node has claimed
	orphansOf      map[wire.NodeID][]wire.PID // by the node of their process
	orphansAt      time.Time                  // when the keeper reported them
	settled        bool                       // unclaimed orphans and absent nodes have been given up
	orphansStopped []wire.PID                 // ghosts that were stopped when the keeper came, in order
	delayed        []task                     // launches that wait until no orphan is left

	attempts uint64               // number of set-ups of nodes that were begun
	unkept   map[wire.NodeID]bool // nodes whose state is to be kept

	settleUntil time.Time // until then nodes may not have come yet
	returnUntil time.Time // the same for what was there before this master
	waiters     map[wire.NodeID][]waiter
	absent      map[wire.PID]time.Time // processes whose clients have yet to come back, and since when
	reports     map[wire.PID]report    // how processes have ended whose clients may ask for that
}

// Config is the configuration with which a core begins.
type Config struct {
	Now         time.Time
	Lease       time.Duration
	Numbers     pidmap.Config     // for the layout of process numbers
	Nodes       map[string][]byte // records of the node table, as [Keep] has them
	Blocks      map[string][]byte // records of the table of blocks
	Named       []Named           // nodes of the configuration
	Rights      *Rights           // rights to nodes that join for the first time; nil: everybody's, and root is the owner
	Squash      uint32            // user in place of any that a node is not believed about; 0: the kernel's overflow user
	Certificate time.Duration     // life of a slave's certificate; 0: it does not expire
	TaskGroups  bool              // control groups bound tasks on the front end
	Ghosts      string            // control group for ghosts; empty: they stay in their parents'
	MaxEnds     int               // bound on the processes for whose ends calls wait
	SetUp       bool              // nodes are set up when they connect
	PowerTime   time.Duration     // time within which a node goes down after it was told to; 0: the usual
}

// Named is a node that the configuration names.
type Named struct {
	ID   wire.NodeID
	Name string // name under which it joins; empty: any
	Addr string // address from which it joins; empty: any
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

// New returns a core without sessions, processes and clients. The error says which record cannot be
// read. If numbers cannot be reserved for the nodes that have them, the core works without them,
// and its first outputs say so.
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
		orphans: map[wire.PID]*orphan{}, orphansOf: map[wire.NodeID][]wire.PID{}, absent: map[wire.PID]time.Time{}, reports: map[wire.PID]report{}, waiters: map[wire.NodeID][]waiter{},
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

// Step takes one input and its time, and returns the outputs that follow from it, in order. The
// caller owns the outputs. Another input answers a question ([Ask]) or a record ([Keep]); the
// answer to a record is the very next input, unless it may come later.
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
	}
	c.serve(p)
	c.emit(Born{})
}

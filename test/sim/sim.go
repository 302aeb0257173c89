package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"bproc/master/core"
	"bproc/pidmap"
	"bproc/wire"
)

// lease is the lease of the simulated cluster.
const lease = 30 * time.Second

// numbers is the smallest configuration: a home for each node, and two blocks more.
var numbers = pidmap.Config{Numbers: pidmap.MinNumbers, Nodes: 4}

// Sim is a simulated cluster.
type Sim struct {
	Steps  int
	Notes  bool           // write a transcript
	Faults map[string]int // by kind
	Kind   string         // of the violation

	had      map[uint64]bool        // births of the processes for which a ghost was made
	only     []int                  // steps to make; nil: all
	broken   func(core.Output) bool // selects outputs of the master's core that are dropped
	lives    []*life                // of cores, if they are recorded
	master   *life
	seed     uint64
	source   *rand.PCG
	rng      *rand.Rand
	now      time.Time
	core     *core.Core
	masters  int // number of masters so far
	kept     map[core.Table]map[string][]byte
	kernel   *kernel
	keeper   *keeper
	nodes    []*node
	links    map[core.Session]*link
	over     map[core.Client]core.Session // of connections of nested clients
	clients  map[core.Client]*client      // by connection; a client that asks again has two until the former is given up
	opened   map[core.Client]bool         // connections with the stream of a process
	closed   []core.ClientLeft            // connections that their clients have closed, which the master will find out
	everyone []*client                    // including those that have left
	sessions core.Session
	conns    core.Client
	births   uint64
	bootedAt uint64              // births before the last boot of the front end
	exits    map[uint64]wire.PID // questions for the end of a process
	parents  map[uint64]core.ParentAfter
	peaceful bool   // nothing ever fails
	setUps   bool   // a script sets nodes up
	ghosts   string // control group for ghosts
	scripts  map[wire.NodeID]uint64
	writes   []core.Keep // not on disk yet
	written  []core.Kept // on disk, and the core does not know yet
	certain  []core.Certify
	replied  wire.Message // to the administrator
	joined   *core.Joined
	others   int
	quiet    bool          // no faults, no births
	passed   []core.Placed // by the last step
	lines    []string
	violated error
}

// New returns a cluster with some nodes. With notes it writes a transcript.
func New(seed uint64, nodes int, notes bool) *Sim {
	s := &Sim{
		Notes:  notes,
		Faults: map[string]int{},
		seed:   seed, source: rand.NewPCG(seed, 0), now: time.Unix(1_000_000, 0),
		had: map[uint64]bool{}, scripts: map[wire.NodeID]uint64{}, peaceful: seed%8 == 7, setUps: seed%3 == 0, quiet: true,
		kept:  map[core.Table]map[string][]byte{core.Nodes: {}, core.Blocks: {}},
		links: map[core.Session]*link{}, clients: map[core.Client]*client{}, opened: map[core.Client]bool{}, over: map[core.Client]core.Session{},
	}
	s.rng = rand.New(s.source)
	if seed%5 == 0 {
		s.ghosts = "ghosts"
	}
	s.kernel = newKernel(s)
	s.keeper = newKeeper(s)
	s.begin()
	for i := range nodes {
		n := newNode(s, wire.NodeID(i))
		s.nodes = append(s.nodes, n)
		n.line = line{name: fmt.Sprint("node ", i), trust: "limited", mode: 0o111}
		s.step(core.Join{Identity: n.key(), Want: n.id, Host: n.line.name})
		if full := "full"; i != neverTrusted {
			s.set(n, wire.SetNodes{Trust: &full})
		}
	}
	s.quiet = false
	return s
}

// begin starts a master, the first or another one.
func (s *Sim) begin() {
	s.masters++
	cfg := core.Config{
		Now: s.now, Lease: lease, Numbers: numbers, Nodes: s.kept[core.Nodes], Blocks: s.kept[core.Blocks], MaxEnds: 3,
		SetUp: s.setUps, TaskGroups: s.seed%2 == 1, Ghosts: s.ghosts, PowerTime: powerTime, Squash: nobody,
		Certificate: time.Duration(s.seed%3) * certificate / 2,
	}
	s.master = s.record("master", cfg)
	c, err := core.New(cfg)
	if err != nil {
		s.fail("the master cannot begin: %v", err)
		return
	}
	s.core, s.exits, s.parents = c, map[uint64]wire.PID{}, map[uint64]core.ParentAfter{}
	clear(s.scripts)
	s.step(s.keeper.found())
}

// fail records the first violation.
func (s *Sim) fail(format string, args ...any) {
	if s.violated == nil {
		s.violated, s.Kind = fmt.Errorf(format, args...), format
	}
}

// note writes a line of the transcript.
func (s *Sim) note(format string, args ...any) {
	if !s.Notes {
		return
	}
	s.lines = append(s.lines, fmt.Sprintf("%5d  ", s.Steps)+fmt.Sprintf(format, args...))
}

// Transcript returns the last lines of the transcript.
func (s *Sim) Transcript(lines int) string {
	return strings.Join(s.lines[max(0, len(s.lines)-lines):], "\n")
}

// step gives the core an input and performs the outputs.
func (s *Sim) step(in core.Input) {
	s.master.input(s.now, in)
	out := s.core.Step(s.now, in)
	for i := 0; i < len(out); i++ {
		if s.broken != nil && s.broken(out[i]) {
			continue
		}
		if next := s.perform(out[i]); next != nil {
			s.master.input(s.now, next)
			out = append(out, s.core.Step(s.now, next)...)
		}
	}
	for _, o := range s.passed {
		s.placed(o)
	}
	s.passed = s.passed[:0]
	s.certified()
}

// certified gives nodes the certificates that were made, which they use at once.
func (s *Sim) certified() {
	for _, o := range s.certain {
		if l := s.links[o.Session]; l != nil {
			l.node.certificate = core.Validity{From: s.now, Until: s.now.Add(certificate)}
			if l.known && !l.isCut {
				s.certain = nil
				s.step(core.NodeHealed{Session: l.id, Certificate: l.node.certificate})
			}
		}
	}
	s.certain = nil
}

// certificate is the lifetime of a certificate.
const certificate = 2 * time.Minute

// perform performs an output of the core. It returns an input that follows at once, or nil.
func (s *Sim) perform(o core.Output) core.Input {
	switch o := o.(type) {
	case core.ToKeeper:
		s.keeper.ask(o)
	case core.ToNode:
		if l := s.links[o.Session]; l != nil {
			l.down = append(l.down, o)
		}
	case core.Broken:
		if l := s.links[o.Session]; l != nil {
			l.broken = true
		}
	case core.CloseSession:
		if l := s.links[o.Session]; l != nil {
			l.closed = true
		}
	case core.Joined:
		if s.joined = &o; len(s.nodes) == int(o.Node)+1 && s.Steps == 0 {
			s.nodes[o.Node].home = o.Home
		}
	case core.Reply:
		s.replied = o.Message
	case core.Certify:
		s.certain = append(s.certain, o)
	case core.SetUp:
		s.scripts[o.Node] = o.Attempt
	case core.StopSetUp:
		delete(s.scripts, o.Node)
	case core.Kill:
		if g := s.keeper.ghost(o.PID); g != nil {
			g.gets(o.Signal, siUser, 0)
		}
	case core.Placed:
		s.passed = append(s.passed, o)
	case core.Keep:
		if o.Later {
			s.writes = append(s.writes, o)
			return nil
		}
		s.writeAll() // records are stored in order
		return s.write(o)
	case core.Ask:
		return s.answer(o)
	case core.Forget:
		delete(s.exits, o.Number)
	case core.Log:
		if o.Level >= core.Warning {
			s.note("log %s %v", o.Text, o.Args)
		}
	default:
		return s.toClient(o)
	}
	return nil
}

// answer answers a question to the kernel.
func (s *Sim) answer(o core.Ask) core.Input {
	a := core.Answer{Number: o.Number}
	switch q := o.Question.(type) {
	case core.ParentOf:
		a.PID, a.Errno = s.kernel.parent(q.PID)
	case core.Exists:
		a.Errno = s.kernel.exists(q.PID)
	case core.Members:
		a.PID, a.PIDs = s.kernel.members(q)
	case core.EndOf:
		if a.Errno = s.kernel.exists(q.PID); a.Errno == 0 && q.Wait {
			s.exits[o.Number] = q.PID
			return nil
		}
	case core.ParentAfter:
		s.parents[o.Number] = q
		return nil
	case core.TaskGroupsOf:
		s.kernel.taskGroupsOf(q, &a)
	case core.CountTasks:
		s.kernel.countTasks(q, &a)
	case core.FreeNumber:
		s.kernel.freeNumber(&a)
	default:
		s.kernel.tellOf(q, &a)
	}
	return a
}

// chance is true once in so many times.
func (s *Sim) chance(once int) bool { return s.rng.IntN(once) == 0 }

// fault counts a fault.
func (s *Sim) fault(kind string, about ...any) {
	s.Faults[kind]++
	s.note("FAULT %s %v", kind, about)
}

// Run makes steps, and then brings everything to rest. It returns the violation.
func (s *Sim) Run(steps int) error {
	for ; s.Steps < steps && s.violated == nil; s.Steps++ {
		if s.only != nil && !slices.Contains(s.only, s.Steps) {
			continue
		}
		s.source.Seed(s.seed, uint64(s.Steps)+1)
		s.anything()
		s.check()
	}
	s.settle()
	if s.violated != nil {
		s.note("the master's core is left with\n%v", s.core)
	}
	return s.violated
}

// anything makes one thing happen.
func (s *Sim) anything() {
	switch n := s.rng.IntN(100); {
	case n < 28:
		s.deliver()
	case n < 41:
		s.keeper.work()
	case n < 68:
		pick(s.rng, s.nodes).lives()
	case n < 76:
		s.clientActs()
	case n < 82:
		s.kernel.userActs()
	case n < 90:
		s.pass(time.Duration(1+s.rng.IntN(3)) * time.Second / 2)
	case n < 94:
		s.answerLate()
	case n < 96:
		s.administerCalmly()
	case !s.peaceful:
		s.disturb()
	}
}

// pass lets time pass, which the daemons notice.
func (s *Sim) pass(d time.Duration) {
	s.now = s.now.Add(d)
	for _, n := range s.nodes {
		n.timePasses()
	}
	s.step(core.Tick{})
	s.step(core.News{})
}

// answerLate answers a question that takes time.
func (s *Sim) answerLate() {
	s.writeAll()
	for len(s.written) > 0 {
		in := s.written[0]
		s.written = s.written[1:]
		s.step(in)
	}
	for _, id := range slices.Sorted(maps.Keys(s.scripts)) {
		in := core.SetUpDone{Node: id, Attempt: s.scripts[id]}
		if s.chance(4) && !s.quiet {
			in.Failed = "exit status 1"
		}
		delete(s.scripts, id)
		s.step(in)
	}
	for _, number := range slices.Sorted(maps.Keys(s.exits)) {
		if s.kernel.exists(s.exits[number]) != 0 {
			delete(s.exits, number)
			s.step(core.Answer{Number: number})
			return
		}
	}
	for _, number := range slices.Sorted(maps.Keys(s.parents)) {
		if q := s.parents[number]; s.kernel.exists(q.End) != 0 {
			delete(s.parents, number)
			a := core.Answer{Number: number}
			a.PID, a.Errno = s.kernel.parent(q.PID)
			s.step(a)
			return
		}
	}
}

func pick[T any](rng *rand.Rand, all []T) T { return all[rng.IntN(len(all))] }

package sim

import (
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// client is a process of the front end, or of a node, that has started one on a node.
type client struct {
	sim   *Sim
	by    *proc // of a node (nested.go); nil: of the front end
	leads bool  // its process leads a session; of a nested launch

	// A nested launch is deaf when its connection has lost its node's session: nobody reads what the
	// core says until the connection is given up.
	deaf   bool
	wanted int  // how often the core has had the stream of its process opened
	opened int  // which of these times it was
	over   bool // the core knows what has become of its process
	pid    wire.PID
	ghost  wire.PID
	launch uint64
	node   wire.NodeID
	uid    uint32
	sets   int         // number of changes of its node when it began
	barred bool        // it may not start processes there
	conn   core.Client // 0: none
	hangUp bool
	ends   bool // it only wants processes of its node to end
	runs   bool // it was told that its process runs
	failed bool
	left   bool
	after  *link // session in which it is to go on

	started *proc
	asked   *proc // the last one that its node was asked for
	exited  bool  // its ghost has ended
	status  wire.Status
	told    core.Client // the connection over which it was told how its process has ended; 0: it was not
	endedBy *core.Core  // the master that has ended its ghost
	endedAt time.Time
}

// clientActs makes a client act: begin, come back or leave.
func (s *Sim) clientActs() {
	for _, c := range s.everyone {
		if c.conn == 0 && !c.left && (!c.exited || c.runs && c.told == 0) && !c.failed && (s.quiet || s.chance(2)) {
			if c.by == nil {
				c.comeBack()
			} else {
				c.nestAgain()
			}
		}
		if c.after != nil && s.chance(2) {
			c.goOn()
		}
		if c.exited && !c.left && s.chance(10) { // it knows how its process has ended
			c.leave()
		}
	}
	s.giveUpDeaf()
	for ; len(s.closed) > 0; s.closed = s.closed[1:] {
		s.step(s.closed[0])
	}
	if s.quiet {
		return
	}
	switch s.rng.IntN(9) {
	case 5:
		if c := s.anyClient(); c != nil && c.isLaunching() && !s.peaceful {
			s.fault("asked again", c.ghost)
			c.connect()
			s.step(c.run(true))
		}
	case 6:
		if len(s.everyone) > 0 && !s.peaceful && s.chance(2) {
			s.stranger(pick(s.rng, s.everyone))
		}
	case 0, 1, 2, 3:
		if len(s.everyone) < 200 && s.kernel.free() > 10 {
			s.newClient()
		}
	case 4:
		if c := s.anyClient(); c != nil && c.runs && s.chance(3) {
			c.leave()
		}
	}
}

func (s *Sim) anyClient() *client {
	if len(s.clients) == 0 {
		return nil
	}
	return s.clients[pick(s.rng, slices.Sorted(maps.Keys(s.clients)))]
}

// newClient makes a client with a ghost, and asks for a process.
func (s *Sim) newClient() {
	s.births++
	c := &client{sim: s, launch: s.births, node: pick(s.rng, s.nodes).id, hangUp: s.chance(2)}
	c.uid = pick(s.rng, []uint32{0, 1000, 1000, 1001})
	c.pid = s.kernel.fork(1).pid
	g := s.kernel.fork(c.pid)
	c.ghost = g.pid
	g.uid, g.name, g.ghost = c.uid, ghostName, &ghost{keeper: s.keeper, pid: g.pid}
	if s.chance(2) && c.uid == 1000 && s.kernel.launchedIn(7) < 3 {
		g.cgroup = 7
	}
	s.everyone = append(s.everyone, c)
	c.ends = c.uid == 0 && s.chance(2)
	c.barUser()
	c.connect()
	s.step(c.run(false))
}

// barUser notes whether a client may start its process.
func (c *client) barUser() {
	n := c.sim.nodes[c.node]
	c.sets, c.barred = n.sets, n.line.bars(c.uid) && (!c.ends || n.line.down)
	n.served[c.uid] = n.served[c.uid] || !c.barred
}

// connect gives a client a connection.
func (c *client) connect() {
	c.sim.conns++
	c.conn = c.sim.conns
	c.sim.clients[c.conn] = c
}

func (c *client) run(again bool) core.Run {
	in := core.Run{
		Client: c.conn, Who: c.who(c.uid), Node: c.node, PID: c.ghost, Launch: c.launch,
		HangUp: c.hangUp, Ends: c.ends, Report: true, Again: again, GhostExists: again && c.sim.kernel.exists(c.ghost) == 0, Limit: limitOf(c.uid),
	}
	if c.by != nil {
		in.From, in.Leads, in.Argv = c.sim.over[c.conn], c.leads, []string{"/bin/" + ghostName}
	}
	return in
}

// comeBack connects a client again that has lost its connection.
func (c *client) comeBack() {
	c.connect()
	if c.runs {
		c.sim.step(core.Attach{Client: c.conn, Node: c.node})
	} else {
		c.sim.step(c.run(true))
	}
}

// isLaunching reports whether a client waits for its process, whose ghost the keeper holds.
func (c *client) isLaunching() bool {
	g := c.sim.keeper.ghost(c.ghost)
	return c.by == nil && g != nil && g.adopted.Birth == c.launch && !c.runs && c.conn != 0 && c.after == nil
}

// strangerUID is a user who starts nothing.
const strangerUID = 1002

// stranger has another user say that he comes back to a client's launch, or to one that he does not name.
func (s *Sim) stranger(c *client) {
	if c.by != nil {
		return
	}
	s.fault("stranger", c.ghost)
	s.conns++
	in := c.run(true)
	in.Client, in.Who, in.Node, in.Ends = s.conns, core.Caller{PID: 1, UID: strangerUID, GID: strangerUID}, pick(s.rng, s.nodes).id, false
	if s.chance(2) {
		in.Launch = 0
	}
	s.step(in)
}

// lost handles the loss of the connection.
func (c *client) lost() { c.conn, c.after = 0, nil }

// disconnectAll handles the end of a master.
func (s *Sim) disconnectAll() {
	for _, c := range s.clients {
		c.lost()
		if c.by != nil && !c.runs {
			c.failed, c.left = true, true
		}
	}
	clear(s.clients)
	clear(s.over)
	clear(s.opened)
	s.closed = nil
}

// leave ends a client. The master finds that out when its launch is settled.
func (c *client) leave() {
	c.left = true
	c.sim.note("client %d of %d leaves", c.pid, c.ghost)
	c.goes()
	conn := c.conn
	if !c.runs && c.after == nil {
		c.conn = 0
		return
	}
	if c.disconnect(); c.by == nil {
		c.sim.step(core.ClientLeft{Client: conn, PID: c.ghost, Told: c.told == conn})
	} else if conn != 0 {
		c.sim.closed = append(c.sim.closed, core.ClientLeft{Client: conn, PID: c.ghost})
	}
}

// goes ends the process of a client.
func (c *client) goes() {
	if c.by == nil {
		c.sim.kernel.end(c.pid)
	}
}

func (c *client) disconnect() {
	c.sim.forgetConn(c.conn)
	c.conn, c.after = 0, nil
}

// toClient applies an output of the core to a client. It returns an input that follows at once, or
// nil.
func (s *Sim) toClient(o core.Output) core.Input {
	switch o := o.(type) {
	case core.Spawn:
		return s.opens(o)
	case core.Started:
		return s.starts(o)
	case core.Resume:
		if c := s.current(o.Client); c != nil {
			if c.after = s.links[o.Session]; c.after == nil { // the connection ends, and it asks again
				c.disconnect()
			}
		}
	case core.Fail:
		s.fails(o)
	case core.Ended:
		if c := s.clients[o.Client]; c != nil {
			c.isTold(o.Report)
		}
	case core.HandOver:
		s.opened[o.To] = s.opened[o.From]
		delete(s.clients, o.From)
	case core.Attached:
		if c := s.current(o.Client); c != nil {
			if l := s.links[o.Session]; l != nil {
				c.after = l
			} else { // its node is gone
				c.givesUp()
			}
		}
	}
	return nil
}

// opens asks a node for the process of a client.
func (s *Sim) opens(o core.Spawn) core.Input {
	c, l := s.clients[o.Client], s.links[o.Session]
	switch {
	case c == nil:
		return core.Refuse{Client: o.Client, PID: o.PID, Stage: wire.StageRequest, Errno: unix.ECANCELED}
	case l == nil:
		return nil
	}
	if c.wanted++; c.deaf {
		c.ghost = o.PID
		return nil
	}
	r := request{client: c, session: l.id, taskGroup: o.TaskGroup, tasks: o.Tasks, pgid: c.ghost, sid: c.ghost}
	if c.by != nil && !c.inherits(o, &r) {
		return core.Refuse{Client: o.Client, PID: o.PID, Launch: c.launch, Stage: wire.StageGhost, Errno: unix.ESRCH}
	}
	if n := l.node; n.line.down || c.barred && c.sets == n.sets {
		s.fail("user %d starts %d on node %d, which is %+v", c.uid, c.ghost, n.id, n.line)
	}
	l.node.served[c.uid], s.opened[o.Client], c.opened = true, true, c.wanted
	l.spawns = append(l.spawns, r)
	return nil
}

// starts tells a client that its process runs.
func (s *Sim) starts(o core.Started) core.Input {
	c := s.clients[o.Client]
	switch {
	case c == nil:
		return core.ClientLeft{Client: o.Client, PID: o.PID}
	case c.deaf:
	case !s.opened[o.Client]:
		s.fail("client %d is told over a connection without a stream that process %d runs", c.pid, c.ghost)
	case c.conn == o.Client:
		c.runs = true
	default: // the client has made another connection, or has ended
		delete(s.clients, o.Client)
		s.closed = append(s.closed, core.ClientLeft{Client: o.Client, PID: c.ghost})
	}
	return nil
}

// fails tells a client that its process will not run.
func (s *Sim) fails(o core.Fail) {
	if c := s.clients[o.Client]; c != nil && c.deaf {
		c.over = true
		return
	}
	if c := s.clients[o.Client]; c != nil && c.ends && o.Errno == unix.EHOSTDOWN && o.Text == "" {
		s.emptyNode(s.nodes[c.node])
	}
	c := s.current(o.Client)
	if c == nil {
		return
	}
	if g := s.kernel.procs[c.ghost]; g != nil && g.ghost != nil && !g.ghost.held && g.parent == c.pid {
		s.kernel.end(c.ghost) // the client ends it
		c.exited = true
	}
	c.givesUp()
}

// reportTime is how long a master knows how a process has ended whose client was away.
const reportTime = 30 * time.Second

// isTold checks what a client is told of the end of its process.
func (c *client) isTold(how wire.Ended) {
	p := c.started
	again := c.told == c.conn
	c.told = c.conn
	switch {
	case again: // it does not listen any more
	case how.Status == wire.StatusUnknown && c.exited && c.endedBy == c.sim.core && c.sim.now.Sub(c.endedAt) < reportTime:
		c.sim.fail("client %d is not told how process %d has ended", c.pid, c.ghost)
	case how.Status == wire.StatusUnknown || p == nil || !p.ended:
	case p.withNode && !how.WithNode && how.Status == killed:
		c.sim.fail("process %d ended with its node, and client %d is not told so", p.pid, c.pid)
	case how.WithNode && how.Status != killed:
		c.sim.fail("client %d is told that process %d was ended with its node, and that its status is %v", c.pid, p.pid, how.Status)
	}
}

// emptyNode checks that nothing runs on a node that is said to be down.
func (s *Sim) emptyNode(n *node) {
	for _, pid := range slices.Sorted(maps.Keys(n.procs)) {
		if p := n.procs[pid]; p.runs && !p.ended {
			s.fail("node %d is said to be down, and process %d runs there", n.id, pid)
		}
	}
}

// current returns the client of a connection whose launch is settled; nil if the client has
// connected again since, and this connection ends.
func (s *Sim) current(conn core.Client) *client {
	c := s.clients[conn]
	if c != nil && c.conn != conn {
		delete(s.clients, conn)
		return nil
	}
	return c
}

// givesUp ends a client that cannot get its process back.
func (c *client) givesUp() {
	c.failed, c.left = true, true
	c.disconnect()
	c.goes()
}

// goOn reports whether the node still has a client's process.
func (c *client) goOn() {
	l := c.after
	c.after = nil
	if l.closed || l.isCut || c.sim.links[l.id] != l {
		delete(c.sim.clients, c.conn)
		c.conn = 0 // the stream is lost: it asks again
		return
	}
	if p := c.started; p == nil || p.node != l.node || p.booted != l.node.booted {
		c.sim.step(core.ClientRefused{Session: l.id, UID: c.uid, PID: c.ghost, Launch: c.launch})
		c.givesUp() // the node has nothing of it
		return
	}
	c.runs = true
	c.sim.step(core.ClientAttached{Session: l.id, Client: c.conn, Parent: c.pid, PID: c.ghost, Launch: c.launch, HangUp: c.hangUp, Report: true})
}

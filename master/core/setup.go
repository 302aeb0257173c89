package core

import (
	"strconv"

	"bproc/wire"
)

// A node is set up by a script of the administrator when it connects for the first time since
// it was booted, or after its processes were given up. The daemon runs the script ([SetUp]) and
// says how it ended ([SetUpDone]). What has become of that is kept (settled), so that a node
// which connects anew, to this master or the next, goes on as it was.

// settled is what a node was after its set-up, in one boot of its machine. It is kept in the step
// in which it is settled. If that cannot be, the script runs once more for the next master.
type settled struct {
	Boot   string
	State  nodeState
	Reason string `json:",omitempty"`
}

// arrives puts a node that has connected into its state.
func (c *Core) arrives(n *node) {
	switch {
	case !n.serves():
		c.become(n, stateDown, "")
	case n.boot != "" && n.Settled.Boot == n.boot && n.Settled.State != "":
		c.become(n, n.Settled.State, n.Settled.Reason)
	default:
		c.bringUp(n)
	}
}

// bringUp has a node set up, if there is anything to be done for that.
func (c *Core) bringUp(n *node) {
	if !c.config.SetUp {
		c.become(n, n.state.after(nodeReturns), "")
		return
	}
	c.become(n, n.state.after(nodeConnects), "")
	c.setUp(n)
}

// setUp has the script of a node run, the one that runs for it being stopped.
func (c *Core) setUp(n *node) {
	c.stopSetUp(n)
	c.attempts++
	n.attempt = c.attempts
	c.emit(SetUp{Node: n.ID, Attempt: n.attempt, Name: n.Name, Addr: n.sess.peer.Addr})
}

// stopSetUp ends the script of a node, if one runs.
func (c *Core) stopSetUp(n *node) {
	if n.attempt != 0 {
		n.attempt = 0
		c.emit(StopSetUp{Node: n.ID})
	}
}

// setUpDone goes on when the script of a node has ended, unless it is not wanted any more.
func (c *Core) setUpDone(in SetUpDone) {
	n := c.nodes.byID[in.Node]
	if n == nil || n.attempt == 0 || n.attempt != in.Attempt {
		return
	}
	n.attempt = 0
	if in.Failed == "" {
		c.become(n, n.state.after(setUpDone), "")
		return
	}
	c.log.Error("a node is not set up", "node", n.ID, "name", n.Name, "err", in.Failed)
	c.become(n, n.state.after(setUpFails), in.Failed)
}

// noteState notes the state of a node for when it connects anew. That it is up is not worth a
// record where nothing has to be done for it.
func (c *Core) noteState(n *node) {
	is := settled{n.boot, n.state, n.reason}
	switch n.state {
	case stateDown, stateBoot, stateReboot, stateHalt, statePwroff:
		return
	case stateUp:
		if !c.config.SetUp {
			is = settled{}
		}
	default: // what a node has failed with, or what it was set to
	}
	if n.Settled != is {
		n.Settled = is
		c.unkept[n.ID] = true
	}
}

// unsettle has a node set up anew when it comes, because its processes were given up. What an
// administrator has said of it stays.
func (c *Core) unsettle(n *node) {
	if n.Settled.State == stateUp || n.Settled.State == stateError {
		n.Settled = settled{}
		c.unkept[n.ID] = true
	}
}

// keepSettled has the lines kept of the nodes that the step has settled, which may be many.
func (c *Core) keepSettled() {
	if len(c.unkept) == 0 {
		return
	}
	var lines []*node
	for _, n := range c.nodes.sorted() {
		if c.unkept[n.ID] {
			lines = append(lines, n)
		}
	}
	clear(c.unkept)
	if records, err := nodeRecords(lines); err != nil {
		statesKept(len(lines)).kept(c, err)
	} else {
		c.keepLater(Nodes, records, statesKept(len(lines)))
	}
}

// statesKept is how many nodes have a state that is to be kept.
type statesKept int

func (k statesKept) kept(c *Core, err error) {
	if err != nil {
		c.log.Error("the states of nodes are not kept; they are set up anew after a restart of the master", "count", strconv.Itoa(int(k)), "err", err)
	}
}

// SetUp has the set-up script of a node run. It is answered by [SetUpDone].
type SetUp struct {
	Node    wire.NodeID
	Attempt uint64
	Name    string
	Addr    string
}

// StopSetUp ends the set-up script of a node. No answer to it is wanted.
type StopSetUp struct{ Node wire.NodeID }

// SetUpDone answers [SetUp].
type SetUpDone struct {
	Node    wire.NodeID
	Attempt uint64
	Failed  string // why; empty: the node is set up
}

func (SetUp) output()     {}
func (StopSetUp) output() {}

func (in SetUpDone) apply(c *Core) { c.setUpDone(in) }

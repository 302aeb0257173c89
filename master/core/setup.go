package core

import (
	"strconv"

	"bproc/wire"
)

// A script of the administrator sets a node up when it connects for the first time since it was
// booted, or after its processes were given up. The daemon runs the script ([SetUp]) and says how
// it ended ([SetUpDone]). The result is kept (settled), so that a node that connects anew, to this
// master or the next, goes on as it was.

// settled is the state of a node after its set-up, in one boot of its machine. It is kept in the
// step in which it is settled. If that fails, the script runs once more for the next master.
type settled struct {
	Boot   string
	State  nodeState
	Reason string `json:",omitempty"`
}

// anyBoot is the boot of a state that an administrator has set while the node was set down: it holds
// for the boot in which the node comes back.
const anyBoot = "any"

// comeBack has a node that does not serve come back in a state that an administrator wants. Without a
// state of its own it is set up.
func (c *Core) comeBack(n *node, state nodeState) {
	n.Settled = settled{Boot: anyBoot, State: state}
	if state == stateUp || state == stateBoot {
		n.Settled = settled{}
	}
	c.unkept[n.ID] = true
}

// arrives puts a node that has connected into its state.
func (c *Core) arrives(n *node) {
	switch {
	case !n.serves():
		c.become(n, stateDown, "")
	case n.Settled.State != "" && (n.Settled.Boot == anyBoot || n.boot != "" && n.Settled.Boot == n.boot):
		c.become(n, n.Settled.State, n.Settled.Reason)
	default:
		c.bringUp(n)
	}
}

// bringUp has a node set up, if there is a script.
func (c *Core) bringUp(n *node) {
	if !c.config.SetUp {
		c.become(n, n.state.after(nodeReturns), "")
		return
	}
	c.become(n, n.state.after(nodeConnects), "")
	c.setUp(n)
}

// setUp has the script of a node run, after it has stopped the one that runs.
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

// setUpDone goes on when the script of a node has ended, unless its result is not wanted any more.
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

// noteState notes the state of a node for its next connection. State up needs no record where there
// is no script.
func (c *Core) noteState(n *node) {
	is := settled{n.boot, n.state, n.reason}
	switch n.state {
	case stateDown, stateBoot, stateReboot, stateHalt, statePwroff:
		return
	case stateUp:
		if !c.config.SetUp {
			is = settled{}
		}
	default: // the node has failed, or was set to this state
	}
	if n.Settled != is {
		n.Settled = is
		c.unkept[n.ID] = true
	}
}

// unsettle has a node set up anew when it comes, because its processes were given up. A state that
// an administrator has set stays; it has no reason.
func (c *Core) unsettle(n *node) {
	if n.Settled.State == stateUp || n.Settled.State == stateError && n.Settled.Reason != "" {
		n.Settled = settled{}
		c.unkept[n.ID] = true
	}
}

// keepSettled keeps the lines of all nodes that the step has settled, which may be many.
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

// statesKept is the number of nodes whose states are being kept.
type statesKept int

func (k statesKept) kept(c *Core, err error) {
	if err != nil {
		c.log.Error("the states of nodes are not kept; they are set up anew after a restart of the master", "count", strconv.Itoa(int(k)), "err", err)
	}
}

// SetUp has the set-up script of a node run. [SetUpDone] answers it.
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
	Failed  string // why the set-up failed; empty: the node is set up
}

func (SetUp) output()     {}
func (StopSetUp) output() {}

func (in SetUpDone) apply(c *Core) { c.setUpDone(in) }

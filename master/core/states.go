package core

import "golang.org/x/sys/unix"

// nodeState is the state of a node, as bpstat shows it. The constants are the states that mean
// something here; an administrator may give a node any other word.
type nodeState string

// The states of a node.
const (
	stateDown        nodeState = "down"        // it is not connected, or set down
	stateBoot        nodeState = "boot"        // it has connected, and its set-up script runs
	stateUp          nodeState = "up"          // it is ready
	stateError       nodeState = "error"       // its set-up, or a change of its power, has failed
	stateUnavailable nodeState = "unavailable" // an administrator has taken it from users
	stateReboot      nodeState = "reboot"      // it was told to boot anew
	stateHalt        nodeState = "halt"        // it was told to halt
	statePwroff      nodeState = "pwroff"      // it was told to switch itself off
)

// Words that a drained node shows in place of up, or of an administrator's word.
const (
	shownDraining = "draining" // processes still run there
	shownDrained  = "drained"
)

// use says who may start processes on a node.
type use uint8

const (
	useByMode use = iota // as its owner, group and mode say
	useRoot              // root alone
	useNobody
)

// uses has the use of each state. For an administrator's word it is useByMode.
var uses = map[nodeState]use{
	stateDown:        useNobody,
	stateBoot:        useRoot,
	stateUp:          useByMode,
	stateError:       useRoot,
	stateUnavailable: useRoot,
	stateReboot:      useNobody,
	stateHalt:        useNobody,
	statePwroff:      useNobody,
}

// stateEvent is what moves a node from one state to another, unless an administrator names the
// state.
type stateEvent string

const (
	nodeConnects  stateEvent = "connects"                                     // it is to be set up
	nodeReturns   stateEvent = "connects, and was set up since it was booted" // or there is no script
	setUpDone     stateEvent = "set-up is done"
	setUpFails    stateEvent = "set-up fails or is late"
	powerFails    stateEvent = "does not go down"
	nodeLeaves    stateEvent = "connection ends"
	rebootAsked   stateEvent = "is to reboot"
	haltAsked     stateEvent = "is to halt"
	powerOffAsked stateEvent = "is to power off"
)

// transition is a line of the table of transitions.
type transition struct {
	from nodeState // anyState: each that has no line of its own
	on   stateEvent
	to   nodeState
}

// anyState stands for all states, an administrator's words too.
const anyState nodeState = "*"

// transitions are all transitions that happen by themselves. An event without a line here leaves a
// node in its state.
var transitions = []transition{
	{anyState, nodeConnects, stateBoot},
	{anyState, nodeReturns, stateUp},
	{stateBoot, setUpDone, stateUp},
	{stateBoot, setUpFails, stateError},
	{stateReboot, powerFails, stateError},
	{stateHalt, powerFails, stateError},
	{statePwroff, powerFails, stateError},
	{stateDown, rebootAsked, stateDown},
	{anyState, rebootAsked, stateReboot},
	{stateDown, haltAsked, stateDown},
	{anyState, haltAsked, stateHalt},
	{stateDown, powerOffAsked, stateDown},
	{anyState, powerOffAsked, statePwroff},
	{anyState, nodeLeaves, stateDown},
}

// after returns the state that follows an event.
func (s nodeState) after(on stateEvent) nodeState {
	next := s
	for _, t := range transitions {
		switch {
		case t.on == on && t.from == s:
			return t.to
		case t.on == on && t.from == anyState:
			next = t.to
		}
	}
	return next
}

// asks returns the event that an administrator asks for by naming a state: reboot, halt and pwroff
// are carried out, not noted.
func (s nodeState) asks() (on stateEvent, ok bool) {
	on, ok = map[nodeState]stateEvent{stateReboot: rebootAsked, stateHalt: haltAsked, statePwroff: powerOffAsked}[s]
	return on, ok
}

// become puts a node into a state. The reason is for people.
func (c *Core) become(n *node, state nodeState, reason string) {
	if state != stateBoot {
		c.stopSetUp(n)
	}
	if n.state != state {
		c.log.Info("state of a node", "node", n.ID, "name", n.Name, "from", string(n.state), "to", string(state))
	}
	n.state, n.reason, n.since = state, reason, c.clock
	c.noteState(n)
}

// shown returns the state as clients see it.
func (n *node) shown() string {
	switch {
	case !n.Drain || uses[n.state] != useByMode:
		return string(n.state)
	case n.procs > 0:
		return shownDraining
	}
	return shownDrained
}

// admits returns why a caller may not start processes on a node that serves; 0: it may.
func (n *node) admits(who Caller, ends bool) (errno unix.Errno, why string) {
	switch use := uses[n.state]; {
	case use == useNobody && n.state != stateDown:
		return unix.EHOSTDOWN, "it is in state " + string(n.state)
	case use == useNobody:
		return unix.EHOSTDOWN, ""
	case n.Drain && (who.UID != 0 || !ends && n.state != stateBoot): // root's commands may set it up
		return unix.EHOSTDOWN, "it is drained: nothing new is started there until 'bpctl undrain'"
	case use == useRoot && who.UID != 0:
		return unix.EACCES, "permission denied: it is in state " + string(n.state) + ", and only root may start processes there"
	case !who.mayUse(n):
		return unix.EACCES, ""
	}
	return 0, ""
}

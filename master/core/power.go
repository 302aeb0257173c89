package core

import (
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A node that is to reboot, halt or power off is told so when its processes have been killed and
// have ended. It then goes down by itself; if it does not, it is in error.

// DefaultPowerTime is the time within which a node goes down after it was told to.
const DefaultPowerTime = 5 * time.Minute

// powering is the action that a node was told, or is to be told.
type powering struct {
	action nodeState // reboot, halt or pwroff; empty: nothing
	since  time.Time
	told   bool
}

// powerDown begins an action that an administrator asks for.
func (c *Core) powerDown(n *node, state nodeState, on stateEvent) {
	if n.sess == nil {
		return
	}
	c.become(n, n.state.after(on), "")
	n.power = powering{action: state, since: c.clock}
	c.put(n.sess, new(wire.KillAll))
	c.goOnWithPower(n)
}

// goOnWithPower tells a node its action as soon as the node has no processes, or when their ends do
// not come. It gives up if the node does not go down.
func (c *Core) goOnWithPower(n *node) {
	p := &n.power
	switch waited := c.clock.Sub(p.since); {
	case p.action == "" || n.sess == nil:
	case n.state != p.action: // an administrator has set it to another state
		n.power = powering{}
	case !p.told && (n.procs == 0 || waited > LeaseMargin):
		p.told = true
		c.put(n.sess, &wire.Power{Action: string(p.action)})
	case p.told && waited > c.config.PowerTime:
		c.powerFailed(n, "it was told to "+string(p.action)+" and has not gone down within "+c.config.PowerTime.String())
	}
}

// powered handles a node's report that its command has ended. A command that succeeds has begun to
// take the node down.
func (c *Core) powered(s *session, m *wire.Powered) {
	n := c.nodes.byID[s.node]
	if n == nil || n.sess != s || n.power.action != nodeState(m.Action) || !n.power.told || m.Text == "" {
		return
	}
	c.powerFailed(n, printable(m.Text))
}

func (c *Core) powerFailed(n *node, why string) {
	c.log.Error("a node does not go down", "node", n.ID, "name", n.Name, "err", why)
	n.power = powering{}
	c.become(n, n.state.after(powerFails), why)
}

// maxReason bounds a text that a node says of itself.
const maxReason = 200

// printable returns a text of a node in a form that fits in a line.
func printable(text string) string {
	var clean []rune
	for _, r := range text {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			r = ' '
		}
		if clean = append(clean, r); len(clean) == maxReason {
			break
		}
	}
	return string(clean)
}

// MayPowerOn returns the name of a node that is to be switched on, or why that is not possible.
func (c *Core) MayPowerOn(id wire.NodeID) (name string, errno unix.Errno, why string) {
	n := c.nodes.byID[id]
	switch {
	case n == nil:
		return "", unix.ENXIO, ""
	case n.sess != nil:
		return "", unix.EALREADY, "it is on: it is connected"
	}
	return n.Name, 0, ""
}

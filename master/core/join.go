package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bproc/wire"
)

// ErrNotAgain refuses a machine whose token is only good for nodes that have joined with it.
var ErrNotAgain = errors.New("it has not joined before with the same token")

var errNodeTaken = errors.New("it has joined before and is connected; put it out first (bpctl revoke), or give another number or name")

// join gives an identity its line in the table: that of the number asked for, or of the name.
// Without a name in the token the name is the host's own. A machine that joins again in this way
// gets back what it had, and its former identity is no longer good. If the token has neither number
// nor name, only the machine says which node it is: then it must not put out a node that is there.
func (c *Core) join(in Join) {
	away := unconnected
	if in.Want < 0 && in.Name == "" {
		away = func(n *node) bool { return c.surelyAway(n) && !c.joinsNow(n, in.Addr) }
	}
	c.joinLine(in, away)
}

// joinLine gives an identity a line. The line of another identity is taken only if that node is
// away.
func (c *Core) joinLine(in Join, away func(*node) bool) {
	name := cmp.Or(in.Name, in.Host)
	n := c.nodes.lineFor(in, name, away)
	if n == nil {
		c.emit(Joined{Client: in.Client, Err: fmt.Errorf("node %d: %w", in.Want, errNodeTaken)})
		return
	}
	if in.Again != nil && (n.Key == "" || !slices.Contains(in.Again, n.ID)) {
		c.emit(Joined{Client: in.Client, Err: ErrNotAgain})
		return
	}
	j := &joining{client: in.Client, n: n, before: *n}
	if n.Key != "" {
		n.Trust = trustLimited // the trust was the former machine's
	}
	n.Key, n.Name = in.Identity, cmp.Or(n.named, in.Name, n.Name, in.Host)
	n.joinedAt, n.joinedFrom = c.clock, in.Addr
	lines := []*node{n}
	if j.former = c.giveHome(n); j.former != nil {
		lines = append(lines, j.former)
	}
	c.keepNodes(j, lines...)
}

// joining is a line of the table for an identity, which is being kept.
type joining struct {
	client Client
	n      *node
	before node
	former *node // node whose home goes over; nil: none
}

func (j *joining) kept(c *Core, err error) {
	n := j.n
	if err != nil { // the slave is refused, and its token stays good
		j.undo(c)
		c.emit(Joined{Client: j.client, Err: err})
		return
	}
	delete(c.nodes.byKey, j.before.Key)
	c.nodes.insert(n, c.clock)
	if j.before.Key != "" {
		c.log.Info("node has joined again; its former identity is not good any more", "node", n.ID, "name", n.Name)
		c.putOut(n, ErrRejoined)
	}
	if other := c.nodes.namesake(n); other != nil {
		c.log.Warn("two machines have one name; commands need their numbers", "node", n.ID, "other", other.ID, "name", n.Name)
	}
	c.emit(Joined{Client: j.client, Node: n.ID, Name: n.Name, Home: n.Home})
}

func (j *joining) undo(c *Core) {
	home := j.n.Home
	*j.n = j.before
	if home == j.before.Home {
		return
	}
	c.alloc.LeaveHome(j.n.ID)
	if j.former != nil {
		j.former.Home = home
		if err := c.alloc.Home(j.former.ID, home); err != nil {
			c.log.Error("a node has no numbers at home", "node", j.former.ID, "err", err)
		}
	}
}

// unconnected reports whether a node has no connection, as far as the master can see, so that
// another identity for it puts nobody out.
func unconnected(n *node) bool { return n.sess == nil || !n.sess.up }

// surelyAway reports whether a node has left, or its lease has run out.
func (c *Core) surelyAway(n *node) bool {
	return n.sess == nil && n.lostAt.IsZero() && (n.gone || c.settled)
}

// joinsNow reports whether another machine has joined as a node a moment ago, and may be about to
// connect: machines with one image may have one name, and start at the same time.
func (c *Core) joinsNow(n *node, addr string) bool {
	return !n.joinedAt.IsZero() && n.joinedFrom != addr && c.clock.Sub(n.joinedAt) <= c.config.Lease+LeaseMargin
}

// lineFor returns the line for a number or a name, which may be a new one; nil: the number is that
// of a node that is not away.
func (t *nodeTable) lineFor(in Join, name string, away func(*node) bool) *node {
	if want := in.Want; want >= 0 {
		n := t.byID[want]
		switch {
		case n == nil:
			return t.newNode(want)
		case n.Key == "" || away(n):
			return n
		}
		return nil
	}
	if n := t.at(in.Addr); n != nil && in.Name == "" && (n.Key == "" || away(n)) {
		return n
	}
	var free, again *node // the first of each
	for _, n := range t.byID {
		switch {
		case n.Name != name:
		case n.Key == "":
			free = first(free, n)
		case away(n):
			again = first(again, n)
		}
	}
	if n := cmp.Or(free, again); n != nil {
		return n
	}
	id := wire.NodeID(0)
	for t.byID[id] != nil {
		id++
	}
	return t.newNode(id)
}

// namesake returns the first other node with the same name; nil: there is none.
func (t *nodeTable) namesake(n *node) (other *node) {
	for _, o := range t.byID {
		if n.Name != "" && o.Name == n.Name && o != n {
			other = first(other, o)
		}
	}
	return other
}

// at returns the node that joins from an address; nil: none does.
func (t *nodeTable) at(addr string) *node {
	if addr == "" {
		return nil
	}
	for _, n := range t.byID {
		if n.addr == addr {
			return n
		}
	}
	return nil
}

// first returns the node with the lower number; a may be nil.
func first(a, b *node) *node {
	if a == nil || b.ID < a.ID {
		return b
	}
	return a
}

package core

import (
	"cmp"
	"errors"
	"fmt"

	"bproc/wire"
)

var errNodeTaken = errors.New("it has joined before and is connected; put it out first (bpctl revoke), or give another number or name")

// join gives an identity its line in the table: that of the number asked for, or of the
// name; the name is the host's own if the token has none. A machine that joins again so gets
// back what it had, and its former identity is not good any more. Without number and name in
// the token it is only the machine that says who it is: then nobody may be there whom it puts
// out.
func (c *Core) join(in Join) {
	away := unconnected
	if in.Want < 0 && in.Name == "" {
		away = c.surelyAway
	}
	c.joinLine(in, away)
}

// joinLine gives an identity a line; that of a node only if it is away.
func (c *Core) joinLine(in Join, away func(*node) bool) {
	name := cmp.Or(in.Name, in.Host)
	n := c.nodes.lineFor(in.Want, name, away)
	if n == nil {
		c.emit(Joined{Client: in.Client, Err: fmt.Errorf("node %d: %w", in.Want, errNodeTaken)})
		return
	}
	j := &joining{client: in.Client, n: n, before: *n}
	if n.Key != "" {
		n.Trust = trustLimited // it was the former machine's
	}
	n.Key, n.Name = in.Identity, cmp.Or(n.Name, name)
	lines := []*node{n}
	if j.former = c.giveHome(n); j.former != nil {
		lines = append(lines, j.former)
	}
	c.keepNodes(j, lines...)
}

// joining is a line of the table for an identity, which is to be kept.
type joining struct {
	client Client
	n      *node
	before node
	former *node // whose home goes over; nil: nobody's
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

// unconnected reports whether nobody is lost by another identity for a node, as far as one can
// see.
func unconnected(n *node) bool { return n.sess == nil || !n.sess.up }

// surelyAway reports whether a node has left, or its lease has run out.
func (c *Core) surelyAway(n *node) bool {
	return n.sess == nil && n.lostAt.IsZero() && (n.gone || c.settled)
}

// lineFor returns the line for a number or a name, which may be a new one; nil: the number is
// that of a node that is not away.
func (t *nodeTable) lineFor(want wire.NodeID, name string, away func(*node) bool) *node {
	if want >= 0 {
		n := t.byID[want]
		switch {
		case n == nil:
			return newNode(want)
		case n.Key == "" || away(n):
			return n
		}
		return nil
	}
	var again *node
	for _, n := range t.sorted() {
		switch {
		case n.Name != name:
		case n.Key == "":
			return n
		case again == nil && away(n):
			again = n
		}
	}
	if again != nil {
		return again
	}
	id := wire.NodeID(0)
	for t.byID[id] != nil {
		id++
	}
	return newNode(id)
}

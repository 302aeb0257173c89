package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"bproc/wire"
)

var errNodeTaken = errors.New("it has joined before and is connected; put it out first (bpctl revoke), or give another number or name")

// joined gives a node that has joined its number.
func (m *Master) joined(ctx context.Context, key, host string, want wire.NodeID, name string) (wire.Block, error) {
	var n *node
	var home wire.Block
	var joinErr error
	if err := m.do(ctx, func(c *core) {
		if n, joinErr = c.joined(key, host, want, name, time.Now()); joinErr == nil {
			home = n.Home
		}
	}); err != nil || joinErr != nil {
		return wire.Block{}, errors.Join(err, joinErr)
	}
	m.log.Info("node has joined", "node", n.ID, "name", n.Name)
	return home, nil
}

// joined gives an identity its line in the table: that of the number asked for, or of the
// name; the name is the host's own if the token has none. A machine that joins again so gets
// back what it had, and its former identity is not good any more. Without number and name in
// the token it is only the machine that says who it is: then nobody may be there whom it puts
// out.
func (c *core) joined(key, host string, want wire.NodeID, name string, now time.Time) (*node, error) {
	away := unconnected
	if want < 0 && name == "" {
		away = c.surelyAway
	}
	name = cmp.Or(name, host)
	n, former, err := c.nodes.join(key, want, name, now, away)
	if err != nil {
		return nil, err
	}
	if former != "" {
		c.log.Info("node has joined again; its former identity is not good any more", "node", n.ID, "name", n.Name)
		c.putOut(n, errRejoined, now)
	}
	c.giveHome(n)
	return n, nil
}

// unconnected reports whether nobody is lost by another identity for a node, as far as one can
// see.
func unconnected(n *node) bool {
	if n.sess == nil {
		return true
	}
	up, _, _ := n.sess.link.Connected()
	return !up
}

// surelyAway reports whether a node has left, or its lease has run out.
func (c *core) surelyAway(n *node) bool {
	return n.sess == nil && n.lostAt.IsZero() && (n.gone || c.settled)
}

// join enters an identity, and returns the former one of the node, if there is any. Only a
// node that is away gets another.
func (t *nodeTable) join(key string, want wire.NodeID, name string, now time.Time, away func(*node) bool) (n *node, former string, err error) {
	if n = t.lineFor(want, name, away); n == nil {
		return nil, "", fmt.Errorf("node %d: %w", want, errNodeTaken)
	}
	before := *n
	if n.Key != "" {
		n.Trust = trustLimited // it was the former machine's
	}
	n.Key = key
	if n.Name == "" {
		n.Name = name
	}
	if err := t.keep(n); err != nil { // the slave is refused, and its token stays good
		*n = before
		return nil, "", err
	}
	delete(t.byKey, before.Key)
	t.insert(n, now)
	return n, before.Key, nil
}

// lineFor returns the line for a number or a name, which may be a new one.
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

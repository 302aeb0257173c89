package master

import (
	"bytes"
	"context"
	"hash/fnv"
	"maps"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/hosts"
	"bproc/master/core"
	"bproc/wire"
)

// How often nodes are told what names mean: after a change at once, and then not before a while
// has passed, which is longer the more nodes there are to be told.
const (
	namesPause        = 20 * time.Millisecond
	namesPauseForEach = 2 * time.Millisecond
	namesUnsettled    = time.Second // after which it is looked whether all nodes are known
	namesTime         = 5 * time.Minute
)

// names is what the names of the cluster mean. The table is made by tellNames alone.
type names struct {
	stirred chan struct{} // nodes have come
	waiting viewers

	mu     sync.Mutex
	known  map[wire.NodeID]string // the last address of each node
	said   wire.Names             // but for whom it is told
	change chan struct{}          // closed when said changes
}

func newNames() *names {
	n := &names{stirred: make(chan struct{}, 1), known: map[wire.NodeID]string{}, change: make(chan struct{})}
	n.said = n.made("127.0.0.1", true)
	return n
}

// stir says that an address may have changed. It does not wait.
func (n *names) stir() {
	select {
	case n.stirred <- struct{}{}:
	default:
	}
}

// now returns what is said of names, and a channel that is closed when that changes.
func (n *names) now() (wire.Names, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.said, n.change
}

// made returns what is to be said.
func (n *names) made(master string, partial bool) wire.Names {
	said := wire.Names{Node: hosts.FrontEnd, Master: master, Nodes: hosts.Pack(n.known), Partial: partial}
	h := fnv.New64a()
	h.Write([]byte(said.Master))
	h.Write(said.Nodes)
	if partial {
		h.Write([]byte{1})
	}
	said.Digest = max(h.Sum64(), 1)
	return said
}

// update enters the addresses of nodes that are connected, and reports whether anything is
// another than before. A node that is not connected keeps the address that it had.
func (n *names) update(nodes []wire.Node, master string, partial bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	there := make(map[wire.NodeID]bool, len(nodes))
	for i := range nodes {
		there[nodes[i].ID] = true
		if addr := hosts.Address(nodes[i].Addr); addr != "" {
			n.known[nodes[i].ID] = addr
		}
	}
	maps.DeleteFunc(n.known, func(id wire.NodeID, _ string) bool { return !there[id] })
	if master == "" {
		master = n.said.Master
	}
	said := n.made(master, partial)
	if said.Digest == n.said.Digest && bytes.Equal(said.Nodes, n.said.Nodes) {
		return false
	}
	n.said = said
	close(n.change)
	n.change = make(chan struct{})
	return true
}

// told is a session with a slave that is told of names.
type told struct {
	c    *slaveConn
	node wire.NodeID
}

// tellNames tells all nodes what names mean, whenever that has changed, until the context ends.
func (m *Master) tellNames(ctx context.Context) error {
	again := time.NewTimer(namesUnsettled)
	defer again.Stop()
	for {
		select {
		case <-m.names.stirred:
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
		var nodes []wire.Node
		var slaves []told
		partial, master := false, ""
		m.state.mu.Lock()
		nodes, partial = m.state.core.NodeList(), !m.state.core.IsSettled()
		for id, c := range m.state.sessions {
			if node := m.state.core.NodeOf(id); node >= 0 {
				slaves = append(slaves, told{c, node})
			}
		}
		m.state.mu.Unlock()
		first := wire.NodeID(-1) // the front end has the address by which the first node reaches it
		for _, s := range slaves {
			if first < 0 || s.node < first {
				first, master = s.node, hosts.Address(s.c.peer.Here)
			}
		}
		if m.names.update(nodes, master, partial) {
			said, _ := m.names.now()
			for _, s := range slaves {
				s.c.putNames(said, s.node)
			}
		}
		if partial {
			again.Reset(namesUnsettled)
		}
		select {
		case <-time.After(max(namesPause, time.Duration(len(slaves))*namesPauseForEach)):
		case <-ctx.Done():
			return nil
		}
	}
}

// tellNamesFirst tells a slave what names mean before it can start anything.
func (m *Master) tellNamesFirst(c *slaveConn) {
	node := wire.NodeID(-1)
	m.state.look(func(core *core.Core) { node = core.NodeWith(c.peer.Key) })
	if node < 0 {
		return // it was revoked in this moment
	}
	said, _ := m.names.now()
	c.putNames(said, node)
}

// putNames tells a slave what names mean on its node.
func (c *slaveConn) putNames(said wire.Names, node wire.NodeID) {
	here := hosts.Address(c.peer.Here)
	if !c.names || here == "" {
		return
	}
	said.Node, said.Addr, said.Master = node, hosts.Address(c.peer.Addr), here
	_ = c.out.Put(0, &said) // or the session ends
}

// awaitNames tells a client what names mean when that has changed.
func (c *clientConn) awaitNames(ctx context.Context, m *wire.AwaitNames) error {
	leave, ok := c.m.names.waiting.enter(c.who.UID)
	if !ok {
		return c.failed(wire.StageRequest, unix.EAGAIN, "")
	}
	defer leave()
	ctx, here := c.whileHere(ctx, namesTime)
	said, change := c.m.names.now()
	for said.Digest == m.After && ctx.Err() == nil {
		select {
		case <-change:
		case <-ctx.Done():
		}
		said, change = c.m.names.now()
	}
	here()
	said.Addr = said.Master
	return c.reply(&said)
}

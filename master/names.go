package master

import (
	"cmp"
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

// How often nodes are told the meaning of names: at once after a change, and then after a pause,
// which is longer with more nodes.
const (
	namesPause        = 20 * time.Millisecond
	namesPauseForEach = 200 * time.Microsecond
	namesUnsettled    = time.Second // interval of checks whether all nodes are known
	namesTime         = 5 * time.Minute
)

// names is the meaning of the cluster's names. It has editions: a slave that knows the edition
// before is told only what is new. Only tellNames makes editions.
type names struct {
	stirred chan struct{} // nodes have come
	waiting viewers

	mu      sync.Mutex
	known   map[wire.NodeID]string // the last address of each node
	said    wire.Names             // without the fields about the receiver
	edition uint64                 // of said, from 1 on
	added   []byte                 // what is new in it since the edition before; nil: something has also gone
	change  chan struct{}          // closed when said changes
}

func newNames() *names {
	n := &names{stirred: make(chan struct{}, 1), known: map[wire.NodeID]string{}, change: make(chan struct{})}
	n.said, n.edition = n.made("127.0.0.1", true), 1
	return n
}

// stir notes that an address may have changed. It does not block.
func (n *names) stir() {
	select {
	case n.stirred <- struct{}{}:
	default:
	}
}

// now returns the meaning of names, and a channel that is closed when it changes.
func (n *names) now() (wire.Names, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.said, n.change
}

// made returns the message about names.
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

// since returns the message for a slave that knows an edition (0: none), and the edition that it
// knows then; false: there is nothing to tell.
func (n *names) since(edition uint64) (said wire.Names, now uint64, news bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	said = n.said
	if edition > 0 && edition+1 == n.edition && n.added != nil {
		said.Nodes, said.Partial = n.added, true
	}
	return said, n.edition, edition != n.edition
}

// update makes an edition if anything has changed, with the addresses of nodes that are connected.
// A node that is not connected keeps its former address.
func (n *names) update(nodes []wire.Node, master string, partial bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	there := make(map[wire.NodeID]bool, len(nodes))
	added, before := map[wire.NodeID]string{}, len(n.known)
	for i := range nodes {
		id := nodes[i].ID
		there[id] = true
		if addr := hosts.Address(nodes[i].Addr); addr != "" && n.known[id] != addr {
			if n.known[id] == "" {
				before++
			}
			n.known[id], added[id] = addr, addr
		}
	}
	maps.DeleteFunc(n.known, func(id wire.NodeID, _ string) bool { return !there[id] })
	master = cmp.Or(master, n.said.Master)
	only := len(n.known) == before && partial == n.said.Partial
	if only && len(added) == 0 && master == n.said.Master {
		return
	}
	if n.added = nil; only {
		n.added = hosts.Pack(added)
	}
	n.said = n.made(master, partial)
	n.edition++
	close(n.change)
	n.change = make(chan struct{})
}

// told is a session with a slave that is told of names.
type told struct {
	c    *slaveConn
	node wire.NodeID
}

// tellNames tells all nodes the meaning of names whenever it has changed, until the context ends.
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
		m.names.update(nodes, master, partial)
		for _, s := range slaves {
			s.c.tellNames(s.node)
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

// tellNamesFirst tells a slave the meaning of names before the slave can start anything.
func (m *Master) tellNamesFirst(c *slaveConn) {
	node := wire.NodeID(-1)
	m.state.look(func(core *core.Core) { node = core.NodeWith(c.peer.Key) })
	if node < 0 {
		return // the node was revoked in this moment
	}
	c.tellNames(node)
}

// tellNames tells a slave the meaning of names on its node, as far as it does not know it.
func (c *slaveConn) tellNames(node wire.NodeID) {
	here := hosts.Address(c.peer.Here)
	said, edition, news := c.m.names.since(c.edition)
	if !c.names || here == "" || !news {
		return
	}
	said.Node, said.Addr, said.Master = node, hosts.Address(c.peer.Addr), here
	_ = c.out.Put(0, &said) // or the session ends
	c.edition = edition
}

// awaitNames tells a client the meaning of names when it has changed.
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

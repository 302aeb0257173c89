package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"bproc/wire"
)

// States of a node that the master itself sets. An administrator may set any
// other word.
const (
	stateUp   = "up"
	stateDown = "down"
)

// node is a line of the node table. The exported fields survive the master.
type node struct {
	ID   wire.NodeID
	Name string
	Key  string // identity in the slave's certificate; empty: configured, never joined
	Mode uint32 // permission bits, 0111 at most
	UID  uint32
	GID  uint32
	Home wire.Block `json:",omitzero"` // numbers that are its own for as long as it is in the table
	// Trust is full or limited (trust.go). One that has joined before there was a choice has
	// none: it is full, as it was.
	Trust string `json:",omitempty"`
	Down  bool   `json:",omitempty"` // set down by an administrator: not served until it is set to another state

	state       string
	since       time.Time
	sess        *session  // nil when it is not connected
	duplicateAt time.Time // when the log said last that another slave has its identity
	boot        string    // of the machine, when it connected last (boot_id of proc_sys_kernel(5)); empty: it has not
	lostAt      time.Time // since when it is not; zero when its processes are certainly dead
	gone        bool      // it was here, and nobody waits for it any more: it leaves, or its lease has run out
	procs       int
}

// serves reports whether processes may be started on the node.
func (n *node) serves() bool { return n.sess != nil && !n.sess.emptying && !n.Down && !n.gone }

// enter puts a node into the state that it has by itself.
func (n *node) enter(now time.Time) {
	state := stateDown
	if n.serves() {
		state = stateUp
	}
	n.state, n.since = state, now
}

// record is the node as clients see it.
func (n *node) record() wire.Node {
	r := wire.Node{
		ID: n.ID, Name: n.Name, State: n.state, Mode: n.Mode, UID: n.UID, GID: n.GID,
		Procs: uint32(n.procs), Since: n.since.Unix(), Trust: n.trust(),
	}
	if n.sess != nil {
		r.Addr, r.Arch = n.sess.peer.Addr, n.sess.peer.Arch
		r.Kernel, r.CPUs, r.Memory = n.sess.inventory.Kernel, n.sess.inventory.CPUs, n.sess.inventory.Memory
	}
	return r
}

// nodeTable knows all nodes by number and by identity.
type nodeTable struct {
	byID  map[wire.NodeID]*node
	byKey map[string]*node
}

// loadNodes reads the node table and adds the nodes of the configuration.
func loadNodes(records map[string][]byte, configured []Named, now time.Time) (*nodeTable, error) {
	t := &nodeTable{byID: map[wire.NodeID]*node{}, byKey: map[string]*node{}}
	for _, number := range inOrder(records) {
		n := new(node)
		if err := json.Unmarshal(records[number], n); err != nil {
			return nil, fmt.Errorf("node table: node %s: %w", number, err)
		}
		t.insert(n, now)
	}
	for _, named := range configured {
		n := t.byID[named.ID]
		if n == nil {
			n = newNode(named.ID)
			t.insert(n, now)
		}
		n.Name = named.Name
	}
	return t, nil
}

// newNode returns a node that has not joined.
func newNode(id wire.NodeID) *node { return &node{ID: id, Mode: 0o111, Trust: trustLimited} }

func (t *nodeTable) insert(n *node, now time.Time) {
	n.state, n.since = stateDown, now
	t.byID[n.ID] = n
	if n.Key != "" {
		t.byKey[n.Key] = n
	}
}

// sorted returns the nodes in order of their numbers.
func (t *nodeTable) sorted() []*node {
	nodes := make([]*node, 0, len(t.byID))
	for _, n := range t.byID {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *node) int { return cmp.Compare(a.ID, b.ID) })
	return nodes
}

// keepNodes has the lines of nodes kept.
func (c *Core) keepNodes(then kept, nodes ...*node) {
	records := map[string][]byte{}
	for _, n := range nodes {
		record, err := json.Marshal(n)
		if err != nil {
			then.kept(c, fmt.Errorf("node table: %w", err))
			return
		}
		records[strconv.Itoa(int(n.ID))] = record
	}
	c.keep(Nodes, records, then)
}

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

// node is a line of the node table. The exported fields survive the master.
type node struct {
	ID   wire.NodeID
	Name string
	Key  string // identity in the slave's certificate; empty: configured, never joined
	Mode uint32 // permission bits, 0111 at most
	UID  uint32
	GID  uint32
	Home wire.Block `json:",omitzero"` // numbers that are its own while it is in the table
	// Trust is full or limited (trust.go). It is empty for a node that has joined before there was
	// a choice, and means full, as it was.
	Trust string `json:",omitempty"`
	// Labels are tags and attributes, in the order of their names, with spaces between them.
	Labels string `json:",omitempty"`
	Down   bool   `json:",omitempty"` // set down by an administrator: not served until it is set to another state
	Drain  bool   `json:",omitempty"` // no new processes are started there

	Settled settled `json:",omitzero"`

	addr        string // address from which it joins, as the configuration says; empty: any
	named       string // name in the configuration; empty: none
	known       bool   // it is in the store
	state       nodeState
	reason      string // why it is in this state; empty: nothing to say
	since       time.Time
	attempt     uint64 // number of the set-up that runs; 0: none
	power       powering
	sess        *session  // nil: not connected
	duplicateAt time.Time // when the log last reported another slave with its identity
	boot        string    // boot_id of the machine when it last connected (proc_sys_kernel(5)); empty: it has not
	lostAt      time.Time // when its session was lost; zero when its processes are certainly dead
	joinedAt    time.Time // when it joined, with this master
	joinedFrom  string    // address from which it joined
	gone        bool      // it was here, and nothing waits for it any more: it leaves, or its lease has run out
	procs       int
	hardware    hardware
}

// serves reports whether processes may be started on the node.
func (n *node) serves() bool { return n.sess != nil && !n.sess.emptying && !n.Down && !n.gone }

// rootMode is the mode of a node that is root's for now.
const rootMode = 0o100

// record returns the node as clients see it, with the rights that apply in its state.
func (n *node) record() wire.Node {
	r := wire.Node{
		ID: n.ID, Name: n.Name, State: n.shown(), Mode: n.Mode, UID: n.UID, GID: n.GID,
		Procs: uint32(n.procs), Since: n.since.Unix(), Trust: n.trust(), Labels: n.labels(), Boot: n.boot, Reason: n.reason,
	}
	if uses[n.state] == useRoot {
		r.Mode, r.UID, r.GID = rootMode, 0, 0
	}
	if n.sess != nil {
		r.Addr, r.Arch = n.sess.peer.Addr, n.sess.peer.Arch
		r.Kernel, r.CPUs, r.Memory = n.sess.inventory.Kernel, n.sess.inventory.CPUs, n.sess.inventory.Memory
	}
	n.hardware.record(&r)
	return r
}

// nodeTable knows all nodes by number and by identity.
type nodeTable struct {
	rights Rights // of nodes that join for the first time
	byID   map[wire.NodeID]*node
	byKey  map[string]*node
}

// loadNodes reads the node table and adds the nodes of the configuration.
func loadNodes(records map[string][]byte, configured []Named, rights Rights, now time.Time) (*nodeTable, error) {
	t := &nodeTable{rights: rights, byID: map[wire.NodeID]*node{}, byKey: map[string]*node{}}
	for _, number := range inOrder(records) {
		n := new(node)
		if err := json.Unmarshal(records[number], n); err != nil {
			return nil, fmt.Errorf("node table: node %s: %w", number, err)
		}
		n.known = true
		t.insert(n, now)
	}
	t.configure(configured, now)
	return t, nil
}

// configure enters the nodes of the configuration, and removes nodes that are neither there nor in
// the store.
func (t *nodeTable) configure(configured []Named, now time.Time) {
	named := map[wire.NodeID]bool{}
	for _, n := range t.byID {
		n.named, n.addr = "", ""
	}
	for _, c := range configured {
		named[c.ID] = true
		n := t.byID[c.ID]
		if n == nil {
			n = t.newNode(c.ID)
			t.insert(n, now)
		}
		n.Name, n.named, n.addr = cmp.Or(c.Name, n.Name), c.Name, c.Addr
		if !n.known {
			n.Mode, n.UID, n.GID = t.rights.Mode, t.rights.UID, t.rights.GID
		}
	}
	for id, n := range t.byID {
		if !named[id] && !n.known {
			delete(t.byID, id)
		}
	}
}

// newNode returns a node that has not joined.
func (t *nodeTable) newNode(id wire.NodeID) *node {
	return &node{ID: id, Mode: t.rights.Mode, UID: t.rights.UID, GID: t.rights.GID, Trust: trustLimited}
}

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

// keepNodes has the lines of nodes kept together.
func (c *Core) keepNodes(then kept, nodes ...*node) {
	records, err := nodeRecords(nodes)
	if err != nil {
		then.kept(c, err)
		return
	}
	c.keep(Nodes, records, then)
}

func nodeRecords(nodes []*node) (map[string][]byte, error) {
	records := map[string][]byte{}
	for _, n := range nodes {
		n.known = true
		record, err := json.Marshal(n)
		if err != nil {
			return nil, fmt.Errorf("node table: %w", err)
		}
		records[strconv.Itoa(int(n.ID))] = record
	}
	return records, nil
}

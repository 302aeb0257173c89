// Package master is the daemon of the front end: it routes messages between
// clients, slaves and the keeper, and it alone knows where each process lives.
//
//	clients --unix socket-->  client.go  \               / slave.go  --wire/link--> slaves
//	                                      core (state.go)
//	keeper  --unix socket-->  keeper.go  /               \ relay.go: bytes of standard descriptors
//
// Decisions are made in [bproc/master/core], a state machine without goroutines and without I/O.
// This package surrounds it: it reads inputs and performs outputs. A goroutine that has an input
// takes the lock of the state (state.go), has the core make its step, and performs the outputs.
// That never waits for a peer: messages go into outboxes, each written by a goroutine of its own, but what the
// keeper's connection takes at once is written at once; steps of launches go into bounded queues; a worker makes searches (worker.go). Records of what
// administrators change, and of nodes that join, go to disk within a step, because they are rare.
// Other records can be many at a time: another worker writes them, and tells the core when they are
// on disk (store). The bytes of a process's standard descriptors do not pass through the core: two
// goroutines for each process copy them between the client's connection and the node's stream. They
// wait at the node's barrier, so that nothing a node says overtakes the births of the ghosts it may
// speak of.
//
// Each process for whose end a node waits (exits.go) has a goroutine and a descriptor, and so has
// each client that has left processes and not ended yet (clientends.go).
//
// A client that looks at processes of a node has two goroutines (look.go). They copy messages as
// those of a process copy bytes, and ask the core which processes are the node's. A client that
// reads slowly makes its node wait, and nothing else. A node's daemon opens streams for processes
// that look there (nodeviews.go), and says for which user. The front end's own processes are looked
// at as a node's are (here.go).
//
// The state directory has what the next master must know: the authority, its tokens, the node
// table, and the owners of numbers (core/blocktable.go). Processes are not in it: the nodes know
// what runs, and the keeper knows which ghosts exist and whose they are (core/orphans.go). After a
// reboot of the front end there are no ghosts, and nodes are told to end the processes that they
// still have. A master that is told to end (SIGTERM) closes its connections and returns within
// about a second; what it leaves behind goes on. It does not close process streams: that would say
// that their clients have left. A master that no other follows, because the machine shuts down,
// ends all processes first (last.go).
//
// An idle node has one goroutine here besides those of its link, which listens to it; another
// writes to the node while there is something to write (slave.go). One goroutine for all nodes
// tells the core of time (state.go), and another of cuts of links (cuts.go).
//
// Locks: that of the state comes first. Those of a barrier, the worker, cuts, exits and ends of clients
// are leaves; nothing is called with them held. With that of an outbox held only the peer is given up,
// which takes locks of package link.
package master

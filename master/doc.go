// Package master is the daemon of the front end: it routes messages between
// clients, slaves and the keeper, and it alone knows where each process lives.
//
//	clients --unix socket-->  client.go  \               / slave.go  --wire/link--> slaves
//	                                      core (state.go)
//	keeper  --unix socket-->  keeper.go  /               \ relay.go: bytes of standard descriptors
//
// What is decided is decided in [bproc/master/core], a state machine without goroutines and
// without I/O. This package is what is around it: it reads what comes in, and does what comes
// out. Whoever has an input takes the lock of the state (state.go), has the core make its step,
// and does what it says, which never waits for anybody: messages go into outboxes, each written by a
// goroutine of its own, steps of launches into bounded queues, and what would have to be searched
// for, a worker searches for (worker.go). Records of what administrators change, and of nodes that join, go to disk within a step: they are
// rare. Others, of which many can come at once, another worker writes, and tells the core when they are on disk (store). The bytes of a process's standard descriptors do not pass through the core: two goroutines
// for each process copy them between the client's connection and the node's
// stream, and wait at the node's barrier, so that nothing a node says overtakes
// the births of the ghosts it may speak of.
//
// Each process for whose end a node waits (exits.go) has a goroutine, and descriptor.
//
// Who looks at processes of a node has two goroutines for that (look.go), which copy
// messages as those of a process copy bytes, and ask the core which processes are the
// node's. One that reads slowly makes its node wait, and nobody else. A node's daemon
// opens streams for those who look there (nodeviews.go), and says for whom; the front end's
// own processes are looked at as a node's (here.go).
//
// The state directory has what the next master must know: the authority, its tokens, the
// node table and which numbers are whose (core/blocktable.go). Processes are not in it: the
// nodes know what runs, and the keeper which ghosts there are, and whose (core/orphans.go). After a reboot of the front end there are none, and the nodes
// are told to end what they still have. A master that is told to end (SIGTERM) closes
// its connections and returns, within a second or so; what it leaves behind goes on.
// Process streams it does not close: that would say that their clients have left. One that
// no other follows, because the machine shuts down, ends all processes first (last.go).
//
// A node that does nothing has one goroutine here besides those of its link, which listens to it;
// another writes to it while there is something to write (slave.go). What all nodes have in common one goroutine does for
// all: telling the core of time (state.go) and of cuts of links (cuts.go).
//
// Locks: that of the state comes first. Those of a barrier, an outbox, the worker, of cuts and of exits are
// leaves; nothing is called with them held.
package master

// Package master is the daemon of the front end: it routes messages between
// clients, slaves and the keeper, and it alone knows where each process lives.
//
//	clients --unix socket-->  client.go  \               / slave.go  --wire/link--> slaves
//	                                      core (core.go)
//	keeper  --unix socket-->  keeper.go  /               \ relay.go: bytes of standard descriptors
//
// The core is a state machine with one owner: the goroutine of [Master.Run]
// that takes inputs from one bounded channel. It holds the node table and the
// process table, does no I/O itself and never waits, but for changes of the node table,
// which are rare and on disk before they are answered (store): what it has to say goes
// into outboxes, each written by a goroutine of its own, and what it would have
// to search for, a worker searches for (worker.go). The bytes of a
// process's standard descriptors do not pass through the core: two goroutines
// for each process copy them between the client's connection and the node's
// stream, and wait at the node's barrier, so that nothing a node says overtakes
// the births of the ghosts it may speak of.
//
// Life of a process, as the core sees it:
//
//	Run from a client        adopting   GhostAdopt to the keeper
//	GhostDone                spawning   the client's goroutine opens the process stream with Spawn
//	event Spawned            running    Started to the client; held signals go out
//	event Exited             ending     GhostExit to the keeper
//	GhostGone                (removed)
//
//	event Forked             forking    GhostFork to the keeper
//	GhostDone                running    the node's barrier moves on
//
// Each process for whose end a node waits (ends.go) has a goroutine, and descriptor.
//
// Who looks at processes of a node has two goroutines for that (look.go), which copy
// messages as those of a process copy bytes, and ask the core which processes are the
// node's. One that reads slowly makes its node wait, and nobody else. A node's daemon
// opens streams for those who look there (nodeviews.go), and says for whom; the front end's
// own processes are looked at as a node's (here.go).
//
// While it runs, its ghost follows it: joins groups and sessions, takes on names
// and credentials, stops (effects.go). Numbers of processes, groups and sessions
// are the same everywhere. The other way, a process asks the kernel of the front
// end what its own node does not know, and has its ghost send signals (calls.go).
// Such a call is carried out when everything that its node has told before is in
// place, as a frame of output is passed on.
//
// A ghost ends because its process has: the node has said so, or its next
// inventory lacks the process, or it has not come back for the time of its lease
// and a margin. The end of a session by itself ends nothing, nor does that of the
// master or of the keeper; what was under way is settled with the next one.
// Requests that can be made twice are made again of the next keeper, in order.
//
// The state directory has what the next master must know: the authority, its tokens, the
// node table and which numbers are whose (blocktable.go). Processes are not in it: the
// nodes know what runs, and the keeper which ghosts there are, and whose (found.go). After a reboot of the front end there are none, and the nodes
// are told to end what they still have. A master that is told to end (SIGTERM) closes
// its connections and returns, within a second or so; what it leaves behind goes on.
// Process streams it does not close: that would say that their clients have left. One that
// no other follows, because the machine shuts down, ends all processes first (last.go).
//
// Two limits of the front end bound a user's processes on nodes: the user's limit of
// processes (budget.go) and the control groups of the ghosts (taskgroups.go).
//
// A session begins with what a former one was not told to be certain (again.go). Who has
// lost a connection with a master or a session comes back: clients by Attach or Run again
// (attach.go, launch.go), within returnTime of their node, or they count as gone
// (return.go). A connection over which the same process was asked for before ends then, and
// hands its process stream over. A launch whose Spawn was lost with a session is sent again in the next one,
// if the inventory lacks its process. A node that leaves says so, and nobody waits for it
// then (gone.go).
//
// Locks: barrier.mu and that of an outbox are leaves; nothing is called with them held.
package master

// Package core is the state machine of the master: the node table, the process table, and all that
// follows from the messages of nodes, clients, the keeper and the front end's kernel.
//
// [Core.Step] takes one [Input] and returns the [Output]s that follow from it. Inside there is no
// goroutine, lock, channel, clock, file or system call, and all state can be printed: an operation
// that waits for an answer is a value whose type names the operation. So the same inputs always
// lead to the same outputs, and the transcripts in testdata are complete. Connections are numbers
// ([Session], [Client]). The core asks the kernel by [Ask] and gets an [Answer]; it stores records
// by [Keep] and gets [Kept].
//
// The tables, each in a file of its own:
//
//	nodes.go       nodes: join.go, admin.go, revoke.go, leave.go, trust.go, homes.go, renew.go
//	session.go     sessions with nodes; replay.go: what a node tells again when one begins;
//	               strangers.go: processes that it comes with and that have no ghost
//	process.go     processes: launch.go, events.go, signals.go, stops.go, reattach.go (clients that are away)
//	orphans.go     ghosts of a former master that no node has claimed
//	keeper.go      requests to the keeper; keeperback.go: the next keeper
//	calls.go       system calls of remote processes: groupsignals.go, groupdelivery.go, exitwatch.go, answers.go
//	blocks.go      blocks of process numbers, blocktable.go
//	budget.go      limits of users; taskgroups.go: those of control groups
//	acks.go        which events are done with; effects.go: which have had their effect on the front end
//
// Life of a process:
//
//	Run from a client        adopting   GhostAdopt to the keeper
//	GhostDone                spawning   Spawn: the client's connection opens the process's stream
//	event Spawned            running    Started to the client; signals that were kept go out
//	event Exited             ending     GhostExit to the keeper
//	GhostGone                (removed)
//
//	event Forked             forking    GhostFork to the keeper
//	GhostDone                running    Placed: output after the birth may pass
//
// While a process runs, its ghost follows it: the ghost joins groups and sessions, takes on names
// and credentials, and stops (effects.go, stops.go). Numbers of processes, groups and sessions are
// the same everywhere. In the other direction a process asks the front end's kernel for what its
// own node does not know, and has its ghost send signals (calls.go). Such a call is carried out
// when everything that its node has reported before is in place, just as a frame of output is
// passed on.
//
// A ghost ends when its process has ended: the node has reported the end, or its next inventory
// lacks the process, or the node has not come back within its lease and a margin. The end of a
// session, of the master or of the keeper ends nothing by itself; operations that were under way
// are settled with the next one. Requests that can be made twice are made again to the next keeper,
// in order (repeat.go).
//
// A session begins with the events that the former session did not acknowledge. A client that has
// lost its connection with a master, or its session, comes back by [Attach] or by another [Run], at any
// time if the ghost shows that it lives. If it has ended, it counts as gone; if it is not known, it does so
// returnTime after its node came back. A former connection for the same process
// ends then, and hands its stream over ([HandOver]). A launch whose Spawn was lost with a session
// is sent again in the next one, if the inventory lacks its process; if the process space of the
// node was made anew meanwhile, the process may have run, and is lost. A node that leaves says so,
// and nothing waits for it then.
package core

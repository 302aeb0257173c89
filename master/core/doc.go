// Package core is the state machine of the master: the node table, the process table, and all
// that follows from what nodes, clients, the keeper and the front end's kernel say.
//
// [Core.Step] takes one [Input] and returns the [Output]s that follow from it. There is no
// goroutine, lock, channel, clock, file or system call inside, and nothing is kept that could
// not be printed: what waits for an answer is a value whose type says what for. So the same inputs lead to
// the same outputs, always, and the transcripts in testdata are complete. Connections
// are numbers ([Session], [Client]). What the kernel knows is asked for ([Ask]) and comes back
// as an input ([Answer]); so do records for the store ([Keep], [Kept]).
//
// The tables, each in a file of its own:
//
//	nodes.go       nodes: join.go, admin.go, revoke.go, leave.go, trust.go, homes.go, renew.go
//	session.go     sessions with nodes; replay.go: what a node tells again when one begins
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
// While it runs, its ghost follows it: joins groups and sessions, takes on names
// and credentials, stops (effects.go, stops.go). Numbers of processes, groups and sessions
// are the same everywhere. The other way, a process asks the kernel of the front
// end what its own node does not know, and has its ghost send signals (calls.go).
// Such a call is carried out when everything that its node has told before is in
// place, as a frame of output is passed on.
//
// A ghost ends because its process has: the node has said so, or its next
// inventory lacks the process, or it has not come back for the time of its lease
// and a margin. The end of a session by itself ends nothing, nor does that of the
// master or of the keeper; what was under way is settled with the next one.
// Requests that can be made twice are made again of the next keeper, in order (repeat.go).
//
// A session begins with the events that a former one was not told to be done with. Who has
// lost a connection with a master or a session comes back: clients by [Attach] or [Run] again,
// within returnTime of their node, or they count as gone. A connection over which the same
// process was asked for before ends then, and hands its stream over ([HandOver]). A launch whose
// Spawn was lost with a session is sent again in the next one, if the inventory lacks its
// process. A node that leaves says so, and nobody waits for it then.
package core

// Package ghost is the front end's side of a remote process: the ghost's image,
// and the keeper that holds ghosts and drives them.
//
// A ghost is a process of the front end that stands for a process elsewhere. It
// runs the image: a page of code that waits for ever, or makes the system calls that
// the keeper has put into its memory. It has no libc, no heap, no threads and no
// files. Everything that happens to it is the keeper's doing,
// through ptrace(2), or the kernel's.
//
//	who                  what                                    file
//	------------------   -------------------------------------   -----------
//	the keeper           serves one master at a time             keeper.go
//	a shard              a thread; the tracer of some ghosts     shard.go
//	                     what it is still to do                  queue.go
//	                     what is a ghost, and what is not        adopt.go process.go strangers.go
//	                     ghosts that do not stop                 worker.go tree.go prod.go ticks.go
//	                     what the master asks for                requests.go
//	                     what the kernel reports                 stops.go
//	                     running system calls in a ghost         drive.go list.go
//	                     signals that a process sends            calls.go
//	                     credentials, attributes of prctl(2)     credentials.go
//	                     another command line                    cmdline.go exec.go
//	                     waiting, and ghosts that slip away      wait.go
//	                     ghosts of a keeper that died            former.go mark.go
//	the outbox           events until a master takes them        outbox.go
//	                     signals until they are where they belong  kept.go
//	the client           the master's end                        client.go
//	the registry         which ghosts there are                  registry.go
//	                     whose they are, for a next keeper       origins.go
//
// A keeper that dies leaves its ghosts to the next one, which seizes them before it
// serves anybody. Those that it held in their exit, or as zombies, end with it. In
// between, a signal does to a ghost what it does to any process: it ends, and its
// process with it, or is stopped, or goes on, which the master finds by what the
// next keeper says.
//
// The keeper knows nothing of nodes and never opens a socket beyond its own
// unix socket.
//
// Goroutines: each shard is one goroutine, locked to its thread for ever,
// because only the thread that has seized a process may drive it. A tree of
// ghosts belongs to one shard, the kernel gives a forked ghost to the tracer of
// its parent. A shard waits in wait4(2) for its ghosts; requests reach it
// through a queue and its bell, a signal that interrupts the wait. Workers carry the
// requests out, coroutines on its thread of which one runs at a time. The
// reader of the master's connection puts requests into the shards' queues, the
// writer empties the outbox.
//
// A ghost that is driven stops within microseconds, and the shard waits for it alone, which
// costs the least. After a millisecond or two a timer of the kernel interrupts that: the
// worker stands still until the shard hears of the ghost's stop among all others, and
// another worker goes on. Such a ghost is in a frozen control group, or gets no
// processor:
//
//	running --(1 ms)--> waited for --(1 s)--> late
//	   ^                    |                   |
//	   +----- it stops -----+-------------------+
//
// While it is waited for, requests about its tree, the ghosts that have made one another,
// stand in line. When it is late they are answered as done, and done when it runs again:
// the master holds back what a node says until it is answered. Only a call whose result
// its process wants to know is refused (EAGAIN). A child that cannot be made then is
// reported as a ghost that is gone. After 512 answers the master waits again, as a ghost
// that is late may only be slow, and after six seconds what is left is refused. So it is with
// a child for which there is no room in a control group, and which is tried again for a
// while (full.go).
//
// The keeper sets the scheduling policy and the processors of a ghost when it adopts it,
// and when it is late. It leaves the control group as it is: by that, whoever manages the
// processes of the front end ends, bounds and freezes them, and the ghost with them. (Where
// an administrator wants ghosts elsewhere, the master moves them.)
//
// The keeper seizes nothing that it has not looked at: a process may be in a state in which
// it does not stop for days, or be executing a file of a FUSE file system that does
// not answer, for which ptrace(2) waits. It looks through the process's directory in
// /proc, which shows no other process, whoever gets the number. What it has seen of a ghost
// is changed by nobody but the keeper: a ghost runs the image alone, and no user can trace
// it.
//
// Locks: registry.mu, queue.mu and outbox.mu are leaves.
package ghost

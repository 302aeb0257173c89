// Package ghost is the front end's side of a remote process: the ghost's image,
// and the keeper that holds ghosts and drives them.
//
// A ghost is a process of the front end that stands for a process elsewhere. It runs the image: a
// page of code that waits for ever, or makes the system calls that the keeper has put into its
// memory. It has no libc, no heap, no threads and no files. Only the keeper, by ptrace(2), and the
// kernel act on it.
//
//	part           does                                     file
//	------------   --------------------------------------   -----------
//	the keeper     serves one master at a time              keeper.go
//	a shard        is a thread, the tracer of some ghosts   shard.go
//	               queues requests                          queue.go
//	               tells ghosts from other processes        adopt.go process.go strangers.go
//	               waits for ghosts that do not stop        worker.go tree.go prod.go ticks.go
//	               carries out the master's requests        requests.go
//	               handles what the kernel reports          stops.go
//	               runs system calls in a ghost             drive.go list.go
//	               sends signals for a process              calls.go
//	               sets credentials, prctl(2) attributes    credentials.go
//	               sets another command line                cmdline.go exec.go
//	               waits; holds ghosts that slip away       wait.go
//	               seizes ghosts of a dead keeper           former.go mark.go
//	the reports    go to the master, and to the next one    reports.go
//	               keeps signals until they are delivered   kept.go
//	the client     is the master's end                      client.go
//	the registry   knows all ghosts                         registry.go
//	               keeps their owners for a next keeper     origins.go
//
// A keeper that dies leaves its ghosts to the next one, which seizes them before it serves a
// master. Ghosts that it held in their exit, or as zombies, end with it. In between, a signal has
// its usual effect on a ghost: the ghost ends, and its process with it, or stops, or goes on. The
// master learns this from what the next keeper reports.
//
// The keeper knows nothing of nodes. It opens no socket but its own unix socket and, for a moment, one to
// bpgroups, which it starts and which loads a BPF program for it (groups.go).
//
// Goroutines: each shard is one goroutine, locked to its thread for ever, because only the thread
// that has seized a process may drive it. A tree of ghosts belongs to one shard, because the kernel
// gives a forked ghost to the tracer of its parent. A shard waits in waitid(2) for its ghosts.
// Requests reach it through a queue and its bell, a signal that interrupts the wait. Workers carry
// the requests out: coroutines on the shard's thread, of which one runs at a time. The reader of
// the master's connection puts requests into the shards' queues. Shards write their reports
// themselves; the writer does so when the connection takes no more.
//
// A ghost that is driven stops within microseconds, and the shard waits for it alone, which costs
// least. After a millisecond or two a kernel timer interrupts that wait: the worker pauses until
// the shard sees the ghost's stop among all others, and another worker goes on. Such a ghost is in
// a frozen control group, or gets no processor:
//
//	running --(1 ms)--> waited for --(1 s)--> late
//	   ^                    |                   |
//	   +----- it stops -----+-------------------+
//
// While a worker waits for a ghost, requests about the ghost's tree (the ghosts that have made one
// another) are queued. When the ghost is late they are answered as done, and carried out when it
// runs again: the master holds back what a node says until it is answered. Only a call whose result
// the process needs is refused (EAGAIN). A child that cannot be made then is reported as a ghost
// that is gone. After 512 such answers the master waits again, as a ghost that is late may only be
// slow. After six seconds the remaining requests are refused. The same applies to a child for which
// a control group has no room; the shard tries again for a while (full.go).
//
// The keeper sets the scheduling policy and the processors of a ghost when it adopts it, and when
// it is late. It leaves the control group as it is: the manager of the front end's processes ends,
// bounds and freezes them by their control group, and the ghost with them. (Where an administrator
// wants ghosts elsewhere, the master moves them.)
//
// The keeper seizes nothing that it has not checked: a process may be in a state in which it does
// not stop for days, or be executing a file of a FUSE file system that does not answer, for which
// ptrace(2) waits. It checks through the process's directory in /proc, which never shows another
// process, even if the number is used again. Only the keeper changes what it has checked: a ghost
// runs the image alone, and no user can trace it.
//
// Locks: registry.mu, queue.mu and reports.mu are leaves, but for the lock of an outbox.
package ghost

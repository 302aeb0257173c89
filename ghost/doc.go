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
// through a queue and its bell, a tracee that exists to be signalled. The
// reader of the master's connection puts requests into the shards' queues, the
// writer empties the outbox.
//
// Locks: registry.mu, queue.mu and outbox.mu are leaves.
package ghost

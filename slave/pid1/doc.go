// Package pid1 is the init of a process space: PID 1 of its PID namespace. It
// starts processes with the numbers that the slave daemon names, reaps what
// ends, delivers signals and sets the space's allocation cursor. It knows
// nothing of nodes, networks or the master, and it outlives the daemon: when
// one dies, the next connects, and the processes have noticed nothing.
//
//	daemon                                          init
//	  | connect (a newer daemon replaces the older)   |
//	  | <----------- InitReady [seccomp listener] --- |
//	  | --- InitLaunch [stream descriptors] --------> | clone3(set_tid), execve
//	  | <---------------------------- InitLaunched -- |
//	  | --- InitSignal, InitCursor, InitKillAll ----> | (no answer)
//	  | <------------------------------ InitStatus -- | wait4: ended, stopped, goes on
//
// InitLaunched comes before the first InitStatus of its process, and a process
// that could not execute its command is never the subject of an InitStatus,
// unless the daemon that asked is gone: then nobody waits for InitLaunched, and
// the next daemon learns of the end in this way.
//
// Statuses are not queued here. The reaper takes the next one from the kernel
// when it could write the last, so that while no daemon is connected, or one
// does not read, ended processes stay zombies: as many as there were processes,
// nothing is lost, and stops and continuations of one process replace each
// other as they do for any parent that is late with wait.
//
// Goroutines: the acceptor; one per connection that reads requests; one per
// launch, at most maxLaunches; the reaper, the only one that calls wait4; and
// the one that supervises while no daemon does (package supervise).
//
// Locks: order, which holds the order of frames to the daemon and is held while
// writing; inside it launches.mu, which is never held across a system call that
// can block. The readers of requests take only the second, so that a daemon
// that does not read can still be read from.
//
// What this package does not do: it does not choose numbers, does not look at
// what the processes do, and does not end by itself. Its process must not end:
// the kernel then kills the whole space.
package pid1

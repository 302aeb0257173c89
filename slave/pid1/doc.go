// Package pid1 is the init of a process space: PID 1 of its PID namespace. It starts processes with
// the numbers that the slave daemon names, reaps processes that end, delivers signals and sets the
// space's cursor. It knows nothing of nodes, networks or the master, and it outlives the daemon:
// when one dies, the next connects, and the processes have noticed nothing.
//
//	daemon                                          init
//	  | connect (a newer daemon replaces the older)   |
//	  | <-- InitReady [seccomp listener, a pipe] ---- | the pipe is for orders about the cursor
//	  | <----------- InitStored [descriptors] ------- | what former daemons gave it to keep
//	  | <----------- InitStatus, InitLaunched ------- | what no daemon has said to forget
//	  | --- InitLaunch [stream descriptors] --------> | clone3(set_tid), execve
//	  | <---------------------------- InitLaunched -- |
//	  | --- InitSignal, InitKillAll ---------------> | (no answer)
//	  | --- InitDeadline ---------------------------> | kills all at that time, unless another comes before
//	  | --- InitStore [descriptors], InitDrop ------> | kept for the next daemon
//	  | --- InitForget -----------------------------> |
//	  | --- InitHangUp -----------------------------> | SIGHUP for all of a session
//	  | --- InitGroup ------------------------------> | a group exists in a session
//	  | --- InitShadow -----------------------------> | a process that stands for one elsewhere
//	  | <---------------------- InitDone [its pidfd]  |
//	  | --- InitSync -------------------------------> | all signals before it are sent
//	  | <---------------------------------- InitDone  |
//	  | <------------------------------ InitStatus -- | wait4, of launched processes: ended, stopped, goes on
//
// InitLaunched comes before the first InitStatus of its process. A process that could not execute
// its command is never the subject of an InitStatus.
//
// A daemon can be killed at any moment, and nothing is lost by that. What it has written is carried
// out before the next is greeted (daemons). It may not have passed on what it was told. So the ends
// of launched processes, and failed launches, are reported again until a daemon says to forget them
// (kept), and a signal with a number can be sent again and arrives once (marks). It gives init the
// descriptors to keep that the next daemon needs (stored). With a busy daemon, or without one,
// numbers stay within the block that was named last (fence). Without one, system calls that need a
// daemon wait (package supervise). At the end of the lease all processes are ended (deadline).
//
// A process begins in the session and the process group that its ghost has on the front end: they
// have the same numbers in the space. Where no process of the space has such a number, a stand-in
// does (standins). If a process of another session or group has it, the new process begins in a
// group of its own in init's session, and that is logged.
//
//	init 1
//	 |-- leader S         setsid: session S
//	 |    |-- anchor G    group G, not orphaned
//	 |    `-- anchor H
//	 |-- forker           made by the leader with CLONE_PARENT, so in session S
//	 `-- process          made by the forker likewise, so a child of init; joins G
//
// A shadow is a stand-in that is needed for its end: descriptors (pidfd_open(2)) of a process
// elsewhere are here those of its shadow, which the daemon kills when that process has ended. It is
// a child of init, in no group that matters.
//
// Stand-ins share init's memory and run no Go: they sleep until they are given an errand (sleeper).
// They are invisible to the daemon; other programs recognise them with package standin. Their
// calls, like init's own, carry the cookie of package filter.
//
// The reaper waits for nothing but children. It puts the statuses of launched processes into a
// queue (statuses), from which they are reported to daemons. Orphans' ends are not reported: the
// daemon sees births and ends in the kernel's records. A report for each would make init wait for
// the daemon, and make the daemon flush its events for each report. So orphans are zombies for a
// moment only, however fast they come and however slow the daemon is.
//
// Goroutines: the acceptor; one per connection that reads requests; one per launch or group that is
// asked for, at most maxLaunches, which hold few threads (waits); the reaper, the only one that
// waits for children; one that reports their statuses; one that ends unneeded stand-ins; one that
// hangs up sessions (hangUps); one that ends all processes when their lease has run out (deadline);
// one that replaces a fencer that has ended (fence); and one that supervises while no daemon does
// (package supervise).
//
// Locks: standins.making, held while stand-ins are made and ended; order, which holds the order of
// frames to the daemon and is held while writing; inside it statuses.mu, inside that launches.mu,
// and inside that standins.mu, which are never held across a system call that can block. The locks
// of kept, stored, deputy and hangUps have none inside them; the first two are held while writing
// only when a daemon is greeted. The readers of requests take neither standins.making nor order,
// except for the answer to InitSync, so that requests of a daemon that does not read can still be
// read.
//
// Root in the space is the node's root, and is trusted like it. By accident it cannot end init,
// which gets no signals and cannot be traced by number; change what numbers processes get, since
// the files for that are read-only; or give init orders, which requires the daemon's socket. On
// purpose it can unmount those files or mount another procfs, write to the memory of init
// (process_vm_writev(2), /proc/1/mem), change the limits and priority of init, leave the space
// (nsenter(1) by a descriptor of the node), and choose numbers by clone3(2) with set_tid, whose
// arguments are in memory, where a filter does not see them. The front end ends processes with
// numbers that are not the node's.
//
// This package does not choose numbers, does not watch what the processes do, and does not end by
// itself. Its process must not end: the kernel then kills the whole space.
package pid1

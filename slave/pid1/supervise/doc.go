// Package supervise answers the system calls of a process space whose answer the space's own kernel
// does not know, by seccomp user notification (seccomp_unotify(2)).
//
//	process          kernel                         supervisor                   front end
//	  | getppid() ---> | filter: ask                   |                            |
//	  |  (waits)       | --- notification: thread ---> |                            |
//	  |                | <--- value, or "go on" ------ |                            |
//	  | <------------- |                               |                            |
//	  | kill(4711) --> | --- notification: thread ---> | --- Call (a goroutine) --> |
//	  |  (waits)       | <--- value ------------------ | <-- Return --------------- |
//	  | <------------- |                               |                            |
//
// A process is in the space if it has a number of a node and is found in the space's /proc, or if
// it was started from the front end. All others are elsewhere, even where the space's kernel has a
// task of that number: init's threads and helpers.
//
//	getppid               the front end's parent for processes started from there, and for
//	                      orphans; otherwise the kernel's
//	getpgid, getsid       of a process elsewhere: the front end's
//	setpgid, setsid       the kernel's; the process is watched afterwards. A group of
//	                      the front end is made in the space before it is joined
//	set*uid, set*gid      the kernel's; the process is watched afterwards
//	kill and its kin      to a process in the space, or to a group of a session that was
//	                      made in it: the kernel's; otherwise the caller's ghost sends the
//	                      signal, unless the caller is of a job
//	pidfd_open            of a process elsewhere: a descriptor of its shadow, which ends
//	                      when the process has ended
//	pidfd_send_signal     by a shadow's descriptor: as kill; otherwise the kernel's
//	pidfd_getfd           by a shadow's descriptor: EPERM; otherwise the kernel's
//	prctl                 the kernel's; the front end is told of what its own kernel
//	                      has to know
//
// Processes in a PID namespace within the space name each other by numbers of their own: all their
// calls are the kernel's.
//
// Each call for the front end waits in a goroutine of its own. There are at most maxWaiting, of
// which no user has all; other calls get EAGAIN. While there is no connection to the front end they
// wait. The caller can be killed meanwhile. Other signals wait with it (Linux 5.19), or make it
// call again.
//
// The slave daemon supervises from outside the space. While it is away, init does, with what it
// knew when it started the processes. Otherwise every shell that starts in that time would wait,
// since it first asks for its parent. Calls that the daemon has to know of wait for it.
//
// A supervisor can be killed at any moment. Its calls are in memory that init keeps (table), and
// the next supervisor decides them anew: what was reported or asked before is reported or asked
// again, in the same words and with the same number. The numbers of callers are those of the PID
// namespace of the call's receiver; a daemon knows its predecessor's, and sees init's through the
// space's /proc.
//
//	free --RECV--> received --decide--> answered --> free
//	                  |
//	                  +--> waits for the front end --> answered --> free
//	                  `--> left to the next supervisor (without a daemon)
//
// This package does not see signals that the kernel sends for a terminal, a file or a timer.
package supervise

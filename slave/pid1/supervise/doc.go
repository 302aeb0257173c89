// Package supervise answers the system calls of a process space whose answer
// the space's own kernel does not know, by seccomp user notification
// (seccomp_unotify(2)).
//
//	process          kernel                         supervisor
//	  | getppid() ---> | filter: ask                   |
//	  |  (waits)       | --- notification: thread ---> |
//	  |                | <--- value, or "go on" ------ |
//	  | <------------- |
//
// A process that was started from the front end has its parent there; in the
// space its parent is init. Every other process has a parent in the space, and
// the kernel's answer is right.
//
// The slave daemon supervises from outside the space. While it is away, init
// does, with what it knew when it started the processes: otherwise every shell
// that starts in that time, which asks for its parent first thing, would wait.
package supervise

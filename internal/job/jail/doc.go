// Package jail executes a process of a job, isolated, on its node. It is the program bpjail, which
// the front end starts as an ordinary remote process, as root.
//
// [Main] does with itself what is to be done, and executes the program of the job then, under the
// same number. So the process has the ghost that bpjail had, is a child of the one that waits for
// it on the front end, and its children have ghosts as everybody's. In order:
//
//	group.go      the control group, with its limits
//	namespace.go  mount, ipc and uts namespaces
//	files.go      what the process sees: root.go lays it out, open.go opens what its user could have changed
//	system.go     /proc, /sys and /dev
//	scope.go      Landlock: other jobs' processes are neither seen nor signalled
//	identity.go   limits, user, capabilities
//	filter.go     system calls that no job makes
//	join.go       a shell beside a process that runs
//
// All of it is done on the main thread, which executes the program: namespaces, user, capabilities
// and filters are a thread's own. Nothing is undone if something fails: bpjail ends, and with
// it what it had.
//
// /proc of a job is the real procfs with hidepid=ptraceable (proc(5)). Landlock lets nobody trace who is not
// of the same domain or below (ptrace_may_access in the kernel), and each process of a job begins a domain,
// so it sees itself and its descendants, with the numbers that they have on the front end, at
// the cost of the real procfs. Kernels before 5.19, or without Landlock, have no such domains: there, processes of the
// same user, which may be of other jobs, are seen.
package jail

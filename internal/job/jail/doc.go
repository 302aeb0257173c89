// Package jail executes a process of a job in isolation on its node. It implements the program
// bpjail, which the front end starts as an ordinary remote process of root.
//
// [Main] isolates its own process and then executes the program of the job in the same process. So
// the program has the ghost that bpjail had and is a child of its supervisor on the front end, and
// its children have ghosts like those of any process. In order:
//
//	group.go      the control group, with its limits
//	namespace.go  mount, ipc and uts namespaces
//	root.go       the file system that the process sees
//	open.go       opens paths that the job's user could have changed
//	group.go      the control group of a process of a job
//	remove.go     signals and the removal of a group with those below it
//	owner.go      gives directories to the present owner of the job
//	system.go     /proc, /sys and /dev
//	scope.go      Landlock: processes of other jobs cannot be seen or signalled
//	identity.go   limits, user, capabilities
//	filter.go     system calls that no job makes
//	format.go     whether the kernel can execute the program
//	execute.go    the limit of processes, and the program
//	join.go       a shell beside a running process
//
// All of this is done on the main thread, which executes the program: namespaces, user,
// capabilities and filters belong to a thread. If something fails, nothing is undone: bpjail ends,
// and its resources are released.
//
// /proc of a job is the real procfs with hidepid=ptraceable (proc(5)). Under Landlock, only
// processes of the same domain or an enclosing one can trace a process (ptrace_may_access in the
// kernel). Each process of a job begins a domain, so it sees itself and its descendants, with the
// numbers that they have on the front end, at the cost of the real procfs. Kernels before 5.19, or
// without Landlock, have no such domains: there, a job also sees processes of the same user, which
// may belong to other jobs.
package jail

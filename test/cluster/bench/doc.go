// Bench measures a whole cluster on this machine and prints for each figure
//
//	bench NAME VALUE UNIT
//	bench NAME VALUE UNIT xRATIO of BASE
//
// where BASE is the name of another figure, measured in the same run. A value is the median of its
// runs. -only REGEXP measures only figures with matching names, and their bases.
//
// A C program, spawn.c, starts and times the commands on the front end: posix_spawn takes 0.2 ms
// there, a Go program several times that. Figures that use the client library run this program
// again on the front end (launcher.go).
//
// Figures of programs that list processes are for 100, 1,000 and 10,000 of them; -sizes 100,200 is
// faster (procfs.go).
//
// Figures of copies are for a large file (-copybytes) and a tree of small ones (-copyfiles) from
// the front end to eight nodes, compared with rsync(1) by ssh(1) to one of them (copy.go).
//
// Figures of a crowd have 10,000 idle processes on the nodes, and ask for changes as bpprocfs(8)
// does (crowd.go).
//
// Figures of jobs measure "bpjob start" of an idle program with limits, the memory that it takes on
// the front end and on its node, and the time in which a service answers beside a fork bomb and a
// program that takes all memory. They are compared with the same program in containers of runc(8)
// and podman(1) (jobs.go).
//
// Figures of nodes have 4,000 simulated nodes connected to a front end (nodes.go). Enrolling them
// takes minutes; -nodes 500 is faster. fanout.1000 is the processor time of the front end for each
// of 1,000 of them on which a command runs and ends at once (fanout.go).
//
// Hostile figures have clients of one user name processes as their ghosts that do not stop, while
// another user's processes are launched (hostile.go).
package main

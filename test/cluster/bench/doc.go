// Bench measures a whole cluster on this machine and prints for each figure
//
//	bench NAME VALUE UNIT
//	bench NAME VALUE UNIT xRATIO of BASE
//
// where BASE is the name of another figure, measured in the same run. A value
// is the median of its runs. With -only REGEXP only figures with such names are
// measured, and the bases that they need.
//
// The commands are started and timed by a C program, spawn.c, on the front end:
// posix_spawn costs it 0.2 ms, a Go program several times that. What needs the
// client library runs in this program again, on the front end (launcher.go).
//
// Figures of programs that look at processes are for 100, 1,000 and 10,000 of them; -sizes
// 100,200 is quicker (procfs.go).
//
// Figures of copies are of a large file (-copybytes) and of a tree of small ones (-copyfiles) from the
// front end to eight nodes, beside rsync(1) by ssh(1) to one of them (copy.go).
//
// Figures of a crowd have 10,000 idle processes on the nodes, and ask for what is new of
// them as bpprocfs(8) does (crowd.go).
//
// Figures of jobs are of "bpjob start" of an idle program with limits, of the memory that it takes on the front end and
// on its node, and of how long a service answers beside a fork bomb and a program that takes all memory; they are beside the
// same program in containers of runc(8) and podman(1) (jobs.go).
//
// Figures of nodes have 4,000 simulated ones connected to a front end (nodes.go). Enrolling them
// takes minutes; -nodes 500 is quicker.
//
// Hostile figures have clients of one user name as ghosts what does not stop, while another
// user's are launched (hostile.go).
package main

// Package guard frees those who wait for a file system in user space whose server was
// killed.
//
// The kernel ends a FUSE connection when the last descriptor of /dev/fuse is closed. A
// server that has several threads may never get there:
//
//	reader             waits for the answer to a lookup, with the directory locked
//	server, thread A   killed before it has taken that request
//	server, thread B   waits for the directory, to tell the kernel what is new in it
//	                   (fuse_reverse_inval_entry of fs/fuse/dir.c), and keeps its
//	                   descriptor of /dev/fuse open
//
// B cannot be killed then, and nobody answers the reader. So a server has a child, the guard, that does nothing but to wait for
// the death of the thread that has started it (PR_SET_PDEATHSIG of prctl(2)), which
// nothing holds up, and ends the connection from outside:
//
//	server                      guard
//	  | --- started ----------->  |
//	  | <-- ready --------------  |
//	mount(2)
//	  | --- mount point ------->  |  looks what it is, without asking the server
//	  | <-- it has it ----------  |
//	  | --- end of file ------->  |  ends: all is well
//	  or
//	  X --- SIGUSR1 ----------->  |  ends the connection, if the server is not all gone:
//	                              |  everybody gets an error
//
// Thread B has a clone of the descriptor by which thread A takes requests, so the kernel ends
// those that were taken without a guard (device.go of package procfs). A server that is
// killed together with its guard waits for a reader only as long as that lives: the request
// of a killed reader is withdrawn if it was not taken.
//
// A guard that is killed is not replaced. A server that finds a former one on its mount
// point, which does not answer, can end its connection by [Abort].
package guard

// Package guard frees those who wait for a file system in user space whose server was
// killed.
//
// The kernel ends a FUSE connection when the last descriptor of /dev/fuse is closed. A
// server that has several threads may never get there:
//
//	server, thread A   killed while it has taken a reader's lookup
//	reader             waits for the answer, with the directory locked; a request that
//	                   was taken cannot be interrupted (request_wait_answer of fs/fuse/dev.c)
//	server, thread B   waits for the directory, to tell the kernel what is new in it
//	                   (fuse_reverse_inval_entry of fs/fuse/dir.c), and keeps the
//	                   descriptors of the process open
//
// Neither can be killed then. The same is so for a server of which one thread looks into
// its own file system. So a server has a child, the guard, that does nothing but to wait for
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
// A guard that is killed is not replaced. A server that finds a former one on its mount
// point, which does not answer, can end its connection by [Abort].
package guard

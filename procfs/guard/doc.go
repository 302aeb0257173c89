// Package guard frees processes that wait for a FUSE file system whose server was killed.
//
// The kernel ends a FUSE connection when the last descriptor of /dev/fuse is closed. With a server
// that has several threads, that may never happen:
//
//	reader             waits for the answer to a lookup, with the directory locked
//	server, thread A   killed before it has taken that request
//	server, thread B   waits for the directory, to notify the kernel of a change in it
//	                   (fuse_reverse_inval_entry of fs/fuse/dir.c), and keeps its
//	                   descriptor of /dev/fuse open
//
// B cannot be killed then, and the reader gets no answer. So a server has a child, the guard, that
// only waits for the death of the thread that has started it (PR_SET_PDEATHSIG of prctl(2)), which
// nothing delays, and ends the connection from outside:
//
//	server                      guard
//	  | --- started ----------->  |
//	  | <-- ready --------------  |
//	mount(2)
//	  | --- mount point ------->  |  finds the connection, without asking the server
//	  | <-- found --------------  |
//	  | --- end of file ------->  |  ends: it is not needed
//	  or
//	  X --- SIGUSR1 ----------->  |  ends the connection, unless all threads of the server
//	                              |  are dead: waiting processes get an error
//
// Thread B has a clone of the descriptor that thread A takes requests from, so even without a guard
// the kernel ends requests that were taken (device.go of package procfs). A server that is killed
// together with its guard waits for a reader only until that ends: the request of a killed reader
// is withdrawn if it was not taken.
//
// A guard that is killed is not replaced. A server that finds a former server's file system on its
// mount point, which does not answer, can end its connection by [Abort].
package guard

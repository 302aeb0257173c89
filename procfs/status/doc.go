// Package status reads what procfs shows of the processes of a machine, or of a space, for remote
// viewers (server.go).
//
// The texts that ps(1) and top(1) read of all processes are sent when they have changed. To find
// changes without opening a file, a BPF program passes over all threads (package marks). It gives
// each thread a number, made of what it has run and of what others can do to it. The texts are read
// only for processes whose number has changed (texts.go). Other files are read on request
// (fetch.go).
//
//	View    what one viewer was told, with the marks of all processes at that time
//	census  the marks of all processes, shared by all viewers for a moment
//	Marker  makes them: marks.Kernel by BPF, or procMarks by reading procfs
//
// # Permissions
//
// The kernel decides. Files are read by threads that have the identity of the reader (identity.go).
// Texts for all users are read as a user who owns nothing, so that they contain no addresses, for
// instance (proc_pid_stat(5)). The thread ends after that.
//
// Environments, which ps(1) also reads all the time, are sent to root alone: to the server that
// shows the view to all. They are read as root, from the directory that the texts were read from,
// and only if the process still has the same owner (subject.go).
//
// In a space, processes that share the memory of its init are omitted: the stand-ins (package
// standin), and a process before its first execve. So is init.
//
// # Locked memory
//
// A read of cmdline or environ can wait in the kernel for the memory of its process, without end. A
// goroutine on its own thread reads these files for many processes, and another one waits for it
// (locked.go). A reader that waits too long is left alone: it has no owner, touches nothing that
// others use, and ends when its read returns. The process is reported with empty texts until then.
//
//	View            turn
//	  | --- start ---> |
//	  |                | reads cmdline of 10, 11, 12: waits
//	  | (patience)     |
//	  | --- left ----> |                                   turn
//	  | --- start --------------------------------------->  | reads cmdline of 13, 14, ...
//	  | <-- done -----------------------------------------  |
//	                   | the read returns: 12 can be read again
//
// # Cost
//
// A pass takes 1 to 2 us for each thread of the node, and a changed process about 30 us more.
// Without viewers nothing is done.
package status

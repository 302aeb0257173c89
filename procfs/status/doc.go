// Package status reads what procfs shows of the processes of a machine, or of a space,
// for viewers elsewhere (server.go).
//
// The texts that ps(1) and top(1) read of all processes are sent when they have changed.
// A pass over all threads by a BPF program finds that out without opening a file
// (package marks): it gives each thread a number, made of what it has run and of what
// others can do to it. Only of processes for which that is another number are the texts
// read (texts.go). Whatever else somebody wants to know is looked up when asked
// for (fetch.go).
//
//	View    what one viewer was told: the marks of all processes as they were then
//	census  the marks of all processes, the same for all viewers for a moment
//	Marker  makes them: marks.Kernel by BPF, or procMarks by reading procfs
//
// # Who may see what
//
// The kernel decides. Files are read by threads that have the identity of who asks
// (identity.go); what is told to everybody is read as a user who has nothing, so that
// there are no addresses in it, for instance (proc_pid_stat(5)). The thread is given up
// after that.
//
// Environments, which ps(1) reads all the time as well, are told to root alone: to the
// server that shows the view to all. They are read as root, from the directory that the
// texts were read from, and only if the process has the same owner then (subject.go).
//
// In a space, processes that share the memory of its init are none: the stand-ins
// (package standin), and a process on its way to its first execve. Neither is init.
//
// # Cost
//
// A pass takes 1 to 2 us for each thread of the node; a process that has changed about
// 30 us more. Nothing is done while nobody asks.
package status

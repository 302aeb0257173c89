// Package scout looks into the processes of a view before readers do, so that the kernel knows their
// files.
//
// FUSE tells the kernel names only when a program looks them up or lists their directory. So a program
// has to look ahead of the readers. The server of the view could: but each of its looks waits for
// itself, in a system call, and for each such wait the Go runtime finds its thread another one,
// and later gives it a processor again. A look at one process, four requests, took the server 300
// microseconds of processor time that way. The scout is a process of its own, whose threads wait
// in the kernel without telling the runtime:
//
//	server                         scout
//	  | --- numbers ------------->  |  thread 1: open, list, look for ctty, close
//	  | <-- requests -------------  |  thread 2: ...
//	  | --- answers ------------->  |
//	  | <-- the same numbers -----  |
//
// The scout starts before the view is mounted, and ends with the server. It has no descriptor of the
// view while it waits for work, and none of /dev/fuse. A scout that is killed is not replaced: the
// view works without it, but a first look takes longer.
package scout

// Package bproc is the client library: it starts processes on the nodes of a
// cluster as children of the calling process, and asks the master what nodes
// and processes there are.
//
//	var c bproc.Client
//	cmd := c.Command(2, "sh", "-c", "echo $$; exit 7")
//	cmd.Stdout = os.Stdout
//	err := cmd.Run(ctx) // *bproc.ExitError, status 7
//
// A command has a ghost on the front end: a child of the caller, in the
// caller's process group and session, with the PID that the process has on its
// node. What the kernel does with a child it does with the ghost: signals that
// are sent to the ghost reach the process, the ghost stops when the process
// stops, and ends as the process ends. [Cmd.Wait] reaps it, so a program that
// uses this package must not call wait4(2) for children it does not know.
//
// A command gets what a child gets from execve(2) on one machine: arguments,
// environment, working directory, umask, nice value, resource limits and the
// set of ignored signals. It does not get descriptors beyond the first three.
// The ghost itself inherits descriptors without the close-on-exec flag, as the
// children of os/exec do; a Go program has such descriptors only when it was
// started with them.
//
// The Go runtime does not keep which of the signals other than SIGHUP, SIGINT
// and the terminal's stop signals were ignored when the program was started, so
// those are carried only when the program ignores them itself (os/signal).
//
// # Without a master
//
// A command outlives the master that has started it: when the connection ends, it is
// made anew with the next master, and input and output go on where they were. Start
// waits up to a minute for an answer that was lost with a master, and up to 5 seconds
// for a master that has just ended. Input that the node has not taken yet is kept,
// 512 KiB at most.
//
// # Goroutines
//
// Output is copied by the goroutine that calls Wait or WaitOutput: until then a
// process that writes much has to wait. A command with an input has a goroutine
// for that, which may be in a Read of [Cmd.Stdin] when the process ends; nobody
// waits for it. Neither holds a large buffer while there is nothing to copy,
// and neither holds a thread, so that thousands of idle commands cost little.
package bproc

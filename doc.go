// Package bproc starts processes on the nodes of a bproc cluster as children of the calling
// program, in the manner of os/exec, and lists the cluster's nodes and processes. It works
// on the front end, where the master runs.
//
//	var cluster bproc.Client
//	out, err := cluster.Command(2, "uname", "-r").Output(ctx)
//
// [Client.Command] makes a [Cmd] for one node. Run, Output and CombinedOutput start the
// command and wait for it; Start and Wait do so in two steps, with StdinPipe, StdoutPipe and
// StderrPipe in between. [RunAll] runs commands on several nodes at once. Where a process
// does not end by exit(0), the error is an [*ExitError]. Where the master or the node
// rejects a request, it is an [*Error], which works with errors.Is and an error number:
//
//	err := cluster.Command(2, "no-such-program").Run(ctx)
//	errors.Is(err, syscall.ENOENT) // true
//
// # Contexts
//
// A context means the same for all commands, as in os/exec: when it is done before the
// process has ended, the process is killed. The error then wraps the cause of the context
// as well. Requests such as [Client.Nodes] are given up.
//
// # Processes
//
// For each process on a node there is a ghost on the front end: a child of the calling
// program, in its process group and session, with the same PID. Programs of the front end
// treat the ghost as if it were the process. A signal to the ghost reaches the process; the
// ghost stops when the process stops, and ends as the process ends. [Cmd.Wait] reaps the
// ghost, so a program that uses this package must not wait for children that it does not
// know (wait4(2) with -1).
//
// A process inherits what a child inherits from execve(2) on one machine: arguments,
// environment, working directory, umask, nice value, resource limits and ignored signals.
// It does not inherit descriptors other than standard input and outputs. The Go runtime
// does not keep which signals were ignored when the program started, except SIGHUP, SIGINT
// and the stop signals of the terminal; others are inherited as ignored only if the program
// ignores them itself (os/signal).
//
// # Restarts of the master
//
// A process outlives the master that started it. The package connects to the next master,
// and input and output continue where they were. Start waits up to 5 seconds for a master
// that has just ended, and up to a minute for an answer that was lost with a master. When
// the connection cannot be restored, the error is [ErrLost].
//
// # Goroutines
//
// The goroutine that calls Wait copies the output to Stdout and Stderr. A process that
// writes much between Start and Wait is therefore held up until Wait is called. Standard
// input, and outputs that are read from a pipe, have a goroutine each. Idle commands need
// little memory and no threads, so that a program can have thousands of them.
package bproc

// Package client talks to the master: it starts processes on nodes, and asks what nodes and
// processes there are. Programs import package bproc, which is made of it; the commands and
// the view of /proc import this package itself.
//
// A command on a node has a ghost, a child of the caller with the same PID. What the
// kernel does with a child it does with the ghost (ghost.go). The bytes of the process's
// standard descriptors go over the connection to the master (stream.go). When the master
// ends, the next one takes over: the connection is made anew, and both sides go on after
// what the other has (renew.go, "What is lost with a daemon" in wire/PROTOCOL.md).
//
// # Looks
//
// [Client.Look] and [Client.Inspect] tell what nodes know of their processes: for all
// processes of a node, and for one file of one process. They give texts of procfs as the
// node has them, and are made for package procfs/nodes.
//
// # Many at a time
//
// Commands that are alike and started at the same time ask the master in one request for up to 16 of them, and
// each gets a connection from it (together.go). A command that does not fit into such a request makes its own.
//
// # Goroutines
//
// Output is copied by the goroutine that calls Wait or WaitOutput: until then a process
// that writes much has to wait. An [OutputPipe] has a goroutine for that from the start. A
// command with an input has one, too, which may be in a Read of [Cmd.Stdin] when the
// process ends; nobody waits for it. None of them holds a large buffer while there is
// nothing to copy, and none holds a thread, so that thousands of idle commands cost little.
package client

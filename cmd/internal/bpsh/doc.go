// Package bpsh implements the command bpsh: it runs a command on nodes and passes on its input,
// output and exit status.
//
// Every node has a [job] with a goroutine, which starts the command, waits for it and keeps its
// exit code. The output of the nodes goes to bpsh's own descriptors directly, or through
//
//	lines   passes on whole lines, each with the node's number (-L, -p)
//	spool   keeps output until the node's turn (-s, -d), or until the end (--group, --json)
//
// in this order. When a job ends, [session.report] prints its result (--json). When all have ended,
// [session.printGroups] prints equal outputs of several nodes once (--group). For several nodes,
// [fanout] reads standard input and gives every node a copy.
//
// The ghosts are in bpsh's process group, so they get the terminal's signals directly. bpsh
// survives these signals and waits for the ghosts. It passes on signals that are sent to bpsh alone
// ([signals]).
package bpsh

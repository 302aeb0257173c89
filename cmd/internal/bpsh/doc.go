// Package bpsh is the command bpsh: it runs a command on nodes and passes on
// its input, output and end.
//
// For every node there is a [job] with a goroutine, which starts the command,
// waits for it and keeps its exit code. What the nodes say goes to bpsh's own
// descriptors directly, or through
//
//	lines   whole lines, each with the node's number (-L, -p)
//	spool   what comes before it is the node's turn (-s, -d), or the end (--group, --json)
//
// in this order. At the end of a job [session.report] prints its result (--json), at the end
// of all [session.printGroups] what is the same of several nodes once (--group). Standard input of several nodes is read by [fanout], which
// gives every node a copy.
//
// The ghosts are in bpsh's process group: signals of the terminal reach them
// without bpsh. bpsh survives those, waits, and passes on what is sent to it
// alone ([signals]).
package bpsh

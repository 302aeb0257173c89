// Rivals measures bpsh and bprsh beside ssh, rsh and the launchers that use them, on a front end and
// nodes in namespaces of this machine, and prints a table for each kind of figure:
//
//	start      median time of "true" on a node, and how many a second end, 1, 8 and 32 side by side
//	fan-out    time of "hostname" on all nodes
//	bytes      so many through standard output, and through standard input
//	memory     of the front end, for each of 100 commands that are idle
//
// Runs of all rivals alternate, so that what else the machine does falls on all, and a value is the
// median of the runs. Commands that fail are counted, not timed.
//
// The nodes have an sshd with a key for root, and an rshd that believes everybody, from the package
// in the directory -rsh. The secure shell has the ciphers that it prefers; "ssh, connected" goes over
// a control connection that is there before.
package main

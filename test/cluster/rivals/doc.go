// Rivals compares bpsh and bprsh with ssh, rsh and the launchers that use them, on a front end and
// nodes in namespaces of this machine, and prints a table for each kind of figure:
//
//	start      median time of "true" on a node, and how many end per second, 1, 8 and 32 concurrently
//	fan-out    time of "hostname" on all nodes
//	bytes      a number of bytes through standard output, and through standard input
//	memory     of the front end, for each of 100 idle commands
//
// Runs of all rivals alternate, so that other load of the machine affects all, and a value is the
// median of the runs. Commands that fail are counted, not timed.
//
// The nodes have an sshd with a key for root, and an rshd without authentication, from the package
// in the directory -rsh. ssh uses its preferred ciphers; "ssh, connected" uses an existing control
// connection.
package main

// Package nodes is where package procfs gets the processes of the nodes from: the
// master of this front end, by the client library.
//
//	procfs.View  <--Changes--  Source  <--Changed--  client.Look, one for each node
//	                             |                     (master > node, when asked)
//	                             +--- the ghosts' own /proc/PID/stat
//
// A node tells what its kernel shows. Three things are otherwise on the front end, and
// are put in their places (texts.go): the parent of a process that init has adopted
// on the node; the terminal of a session, which nodes do not have; and the time of
// start, which counts from another boot. Everything else is the same everywhere.
//
// On a node it is the same by way of the node's daemon, but that there are no ghosts: the
// front end is one node more, and its processes tell the terminals of their sessions
// (elsewhere.go).
//
// Texts of a node are not trusted: one that does not have the form that the kernel gives
// it is dropped, with the process (stat.go).
//
// A Source asks nobody by itself. Run does the work that outlasts a call of Refresh:
// a node that does not answer in time is waited for there, and its answer is in a later
// Refresh. An answer is taken in part by part, as it comes: what has come of one that is cut
// stands, and what a former look has told ends when a later one is complete without it. Source.mu guards all tables; under it the procfs of this machine is read, but
// nobody is waited for.
package nodes

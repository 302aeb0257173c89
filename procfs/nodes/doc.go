// Package nodes gets the processes of the nodes for package procfs: from the master of this front
// end, by the client library.
//
//	procfs.View  <--Changes--  Source  <--Changed--  client.Look, one for each node
//	                             |                     (master > node, on request)
//	                             +--- the ghosts' own /proc/PID/stat
//
// A node tells what its kernel shows. Three values differ on the front end, and are replaced
// (texts.go): the parent of a process that init has adopted on the node; the terminal of a session,
// as nodes have none; and the start time, which counts from another boot. All other values are the
// same everywhere.
//
// On a node the daemon passes the requests on, and there are no ghosts: the front end is looked at
// as one more node, and its processes tell the terminals of their sessions (elsewhere.go).
//
// Texts from a node are not trusted: a text that does not have the form that the kernel gives it is
// dropped, with its process (stat.go).
//
// A Source asks nothing by itself. Run does the work that outlasts a call of Refresh: it waits for
// a node that does not answer in time, and the answer is in a later Refresh. An answer is applied
// part by part as it arrives. If it is cut off, the parts that have arrived stay valid, and data of
// a former look stay until a later look is complete without them. Source.mu guards all tables; code
// that holds it reads the procfs of this machine, but waits for nothing else.
package nodes

// Package nodeup runs what the administrator has for nodes on the front end: the set-up script
// of a node that has connected, and the command that switches one on. What they print goes into
// a log for each node, of bounded size.
//
// It decides nothing: the master's core says when a script is to begin and to stop, and is told
// how it has ended.
//
// Goroutines: each script has one, locked to a thread, so that a script ends with the master
// (PR_SET_PDEATHSIG of prctl(2) is about the thread that has forked). [Runner.Run] waits for all.
//
// Locks: that of the runner comes before those of the logs.
package nodeup

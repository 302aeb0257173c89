// Package nodeup runs the administrator's programs for nodes on the front end: the set-up script of
// a node that has connected, and the command that switches a node on. Their output goes into a log
// for each node, of bounded size.
//
// It decides nothing: the master's core says when a script has to begin and to stop, and is told
// how it has ended.
//
// Goroutines: each script has one, locked to a thread, so that the script ends with the master
// (PR_SET_PDEATHSIG of prctl(2) refers to the thread that has forked). [Runner.Run] waits for all.
//
// Locks: the runner's comes before those of the logs.
package nodeup

// Package slave is the daemon of a node: it connects to the master and keeps the node's process
// space.
//
//	master --control stream--> control.go --> space (init) : signals, numbers
//	       <--Events----------  recorder.go <-- procevents (BPF), space (init)
//	       <--Call, Return--->  frontend.go <-- space (supervisor of system calls)
//	       --process streams-> process.go --> space: launch; bytes
//	       --Show, Fetch-----> viewers.go --> status: what procfs shows
//	       <--Viewer---------- lookout.go <-- bpprocfs (view.go), clients on this node
//
// Package core decides: one input leads to a list of outputs. A goroutine that has read an input
// takes a lock, steps the core, and carries out the outputs (state.go).
//
// The slave decides nothing by its number or by other nodes: it only puts their names into its processes'
// /etc/hosts (names.go). It reports its processes to the master by events, numbered in one sequence. User-visible output carries the number of the
// last event before it: a pump that has read output asks the recorder for that number, and the
// recorder first takes in everything that the kernel has noted up to then. A call for the front end
// is sent after that, too.
//
// A slave that loses its master keeps its processes and connects again. It kills them when it has
// not heard from the master for the time of its lease.
//
// The kernel gives the numbers, and the space must not run out of its blocks: the warden's thread
// moves the cursor in time, whatever the other threads do (warden.go).
//
// Bounds: the node's blocks and a budget for each user bound its processes and threads (tasks.go);
// core/backlog.go bounds what the front end has to make up for, package outbox what waits for the
// master, package supervise the calls that wait.
//
// Lock order: recorder.mu, then node.granting, then state.mu, then one of watch.mu, numbers.mu,
// hold.mu and the outlet's lock. The warden's thread takes hold.mu or numbers.mu alone, except to
// ask the master for numbers. The supervisor's thread, for which all processes wait, takes watch.mu,
// and within it the lock of the position in the kernel's records. None is held while waiting for the
// master or for init.
package slave

// Package slave is the daemon of a node: a message pipe to the master, and the
// keeper of the node's process space.
//
//	master --control stream--> control.go --> space (init) : signals, numbers
//	       <--Events----------  recorder.go <-- procevents (BPF), space (init)
//	       <--Call, Return--->  frontend.go <-- space (supervisor of system calls)
//	       --process streams-> process.go --> space: launch; bytes
//	       --Show, Fetch-----> viewers.go --> status: what procfs shows
//	       <--Viewer---------- lookout.go <-- bpprocfs (view.go), whoever looks on this node
//
// Package core decides: one input leads to a list of outputs. A goroutine that has read an
// input takes a lock, steps the core, and carries out the outputs (state.go).
//
// The slave does not know its number, nor who else is in the cluster. What it
// tells the master about its processes are events, numbered in one sequence.
// User-visible output carries the number of the last event before it: a pump that has read output asks the
// recorder for that number, and the recorder first takes in everything that the
// kernel has noted up to then. A call for the front end is made after that, too.
//
// A slave that loses its master keeps its processes and connects again. It
// kills them when it has not heard from the master for the time of its lease.
//
// The kernel gives the numbers, and the space must not run out of its blocks: the
// warden's thread moves the cursor in time, whatever the others do (warden.go).
//
// Bounds: processes and threads of the node by its leased numbers, and by a budget
// for each user (tasks.go); what the front end has to make up for (core/backlog.go); what
// waits for the master (package outbox); calls that wait (package supervise).
//
// Lock order: recorder.mu, then state.mu, then one of watch.mu, numbers.mu, hold.mu,
// that of the outlet. The warden's thread takes hold.mu or numbers.mu alone, but to ask the
// master for numbers. The supervisor's thread, for which all processes wait, takes
// watch.mu, and in it what guards the place in the kernel's records. None is held while waiting for the master or for init.
package slave

// Package slave is the daemon of a node: a message pipe to the master, and the
// keeper of the node's process space.
//
//	master --control stream--> control.go --> space (init) : signals, numbers
//	       <--Events----------  recorder.go <-- procevents (BPF), space (init)
//	       --process streams-> process.go --> space: launch; pump.go: bytes
//
// The slave does not know its number, nor who else is in the cluster. What it
// tells the master about its processes are events, numbered in one sequence by
// the recorder. Whatever else leaves the node for the ears of a user carries the
// number of the last event before it: a pump that has read output asks the
// recorder for that number, and the recorder first takes in everything that the
// kernel has noted up to then.
//
// A slave that loses its master keeps its processes and connects again. It
// kills them when it has not heard from the master for the time of its lease.
//
// Lock order: recorder.mu, then outbox.mu.
package slave

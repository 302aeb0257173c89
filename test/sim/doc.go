// Package sim is a simulated cluster: the master's core (master/core) as it is, with models of all
// that is around it: the kernel of the front end with its process tree, the keeper and the ghosts,
// clients, nodes with their processes, the links to them, and time. One seed decides what happens
// next: births, ends, signals, changes of parents, lost and slow messages, cuts, the death and
// return of the master, of the keeper, of nodes' daemons and of whole nodes, leases that run out.
//
// After every step the world is looked at from outside (invariants.go), and at the end, when
// nothing disturbs any more, all must come to rest with nothing left.
//
// A model does what a peer may do, and as little as possible beside that: what a slave tells again
// after a lost session (node.go), in which order a keeper answers (keeper.go).
package sim

// Package sim is a simulated cluster: the cores of the master (master/core) and of the slaves
// (slave/core) as they are, with models of all that is around them: the kernel of the front end with
// its process tree, the keeper and the ghosts, clients, kernels and inits of nodes with their processes
// and journals, links, and time. One seed decides what happens
// next: births, ends, signals, stops, changes of groups, users and names, calls, what administrators do with nodes
// (states, rights, labels, revocation, joins), full budgets and control groups, lost and slow messages, cuts, the death and
// return of the master, of the keeper, of slaves and of whole nodes, leases that run out.
//
// After every step the world is looked at from outside (invariants.go), and at the end, when
// nothing disturbs any more, all must come to rest with nothing left.
//
// A model does what a peer may do, and as little as possible beside that: what init keeps for the
// next slave (init.go), in which order a keeper answers (keeper.go). A slave that dies leaves its
// journal; what it has asked init for comes, or is lost from some request on (slave.go).
package sim

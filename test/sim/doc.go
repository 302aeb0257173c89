// Package sim is a simulated cluster. It has the real cores of the master (master/core) and of the
// slaves (slave/core), with models of everything around them: the kernel of the front end with its
// process tree, the keeper and the ghosts, clients, kernels and inits of nodes with their processes
// and journals, links, and time. One seed decides what happens next: births, nested launches, ends,
// signals, stops, changes of groups, users and names, calls, actions of administrators (states,
// rights, labels, revocation, joins), full budgets and control groups, lost and slow messages, nodes that
// claim what is not theirs, cuts, the death and return of the master, of the keeper, of slaves, of whole
// nodes and of the front end, and leases that run out.
//
// After every step the state is checked from outside (invariants.go). At the end, without further
// faults, everything must come to rest with nothing left.
//
// A model does what its original may do, and little else: what init keeps for the next slave
// (init.go), in which order a keeper answers (keeper.go). A slave that dies leaves its journal; its
// requests to init arrive, or are lost from some request on (slave.go).
package sim

// Package supervise keeps one process of a job: it starts it on a node, writes what it says to its
// logs, ends it, and starts it again by its rule. When which of that is to happen, package life decides.
//
//	bpjob start ---- starts ---> supervisor ---- bpjail ---> process on a node
//	bpjob stop  --- SIGTERM --->     |   \
//	                              record  logs
//
// A supervisor is a program on the front end, one for each process of a job that runs. To the
// master it is a client as bpsh is, and so the client library has it survive restarts of the daemons, and
// its logs lack nothing then. The master keeps nothing of jobs, and one supervisor's trouble is not another's.
//
// It takes as long to end as the process does; who waits for its lock (package place) waits for both.
//
// Goroutines: [Supervisor.Run] owns all state. What takes time (launches, signals, hooks) has a
// goroutine of its own, which tells Run how it went by a channel; Run waits for all of them.
package supervise

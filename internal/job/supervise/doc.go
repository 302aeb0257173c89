// Package supervise supervises one process of a job: it starts the process on a node, writes its
// output to logs, ends it, and starts it again by its rule. Package life decides when each of these
// happens.
//
//	bpjob start ---- starts ---> supervisor ---- bpjail ---> process on a node
//	bpjob stop  --- SIGTERM --->     |   \
//	                              record  logs
//
// A supervisor is a program on the front end, one for each running process of a job. It is a client
// of the master as bpsh is, so by the client library it survives restarts of the daemons, without a
// gap in its logs. The master stores nothing about jobs, and a faulty supervisor does not affect
// others.
//
// A supervisor ends only after its process, so waiting for its lock (package place) waits for both.
//
// Goroutines: [Supervisor.Run] owns all state. Long operations (launches, signals, hooks) have
// their own goroutines, which report their results to Run on a channel. Run waits for all of them.
package supervise

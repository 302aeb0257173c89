// Package procevents tells what the processes of a process space do: what the
// kernel notes of births, execs and ends, and what of it is worth telling the
// front end.
//
//	kernel                           slave daemon
//	tracepoints --> ring buffer --> Source.Drain --> Tracker.Record ...
//	  fork, exec, exit                init's word --> Tracker.Spawned, Ended ...
//	                                                  Tracker.Flush --> wire.Events
//
// [Source] is the kernel's side: a BPF program (bpf/process.c) on the
// tracepoints of fork, exec and exit, filtered to one PID namespace, writes
// [Record]s to a ring buffer. [Tracker] is a function of its inputs, without
// clock, I/O or locks: records and the words of init go in, numbered events come
// out. [Proc] reads the space's /proc: command lines, and all processes when
// records were lost.
//
// # Order
//
// The ring keeps the order of reservations, and a reservation is made inside the
// system call that it reports: the fork tracepoint runs before the child runs
// and before clone returns to the parent; the exit tracepoint before anybody can
// have waited for the process; the exec tracepoint before the new program runs.
// So whatever a process did, its record was reserved before anything that the
// process did afterwards, and a reader that has seen such a thing (bytes in a
// pipe, a status from wait) and calls [Source.Drain] then, gets the record in that
// call: Drain reads the ring's producer position, which is behind the
// reservation, and waits for what is reserved up to there and not yet committed.
//
// # Wake-ups
//
// A record wakes the reader only when the reader has taken everything before it
// (the kernel's own rule, Documentation/bpf/ringbuf.rst), and [Source.Wait] lets a
// millisecond pass after it was woken: at most a thousand wake-ups a second,
// whatever the processes do. Births and ends of processes that were started from
// the front end are not in the ring: init reports them.
//
// # Cost
//
// A space has one ring of kernel memory, 4 MiB by default, which is room for
// 100,000 records. A fork outside the space costs two reads of kernel memory, in
// another PID namespace two more for each level. BenchmarkFork measures it.
//
// The package needs Linux 5.10 with BTF, and CAP_BPF with CAP_PERFMON or
// CAP_SYS_ADMIN.
//
// A Source locks itself, and the function given to Drain runs under that lock. A
// Tracker belongs to whoever holds its owner's lock; that lock is taken before Drain
// is called, so that records reach the Tracker in the order of the ring.
package procevents

// Package procevents reports what the processes of a process space do. It takes in what the kernel
// notes of births, execs, stops and ends, and decides what of that is worth an event for the front
// end.
//
//	kernel                               slave daemon
//	tracepoints  --> ring buffer  --> Source.Read  --> Tracker.Record ...
//	  fork, exec, exit,              init's reports --> Tracker.Spawned, Ended ...
//	  signals, switches             reads of /proc  --> Tracker.Observe, Look ...
//	                                                    Tracker.Flush --> wire.Events
//	                                  Source.Release <-- Tracker.Oldest
//
// A record stays in the ring until everything that follows from it has been reported, so that the
// next daemon gets it if this one dies before.
//
// [Source] is the kernel's side: BPF programs (bpf/process.c) on tracepoints, filtered to one PID
// namespace, write [Record]s to a ring buffer. [Tracker] decides, without
// clock, goroutines or locks: records and the reports of init and of the daemon go in, numbered events
// come out. It asks two functions that it is given for what /proc says: a command line, and whether a
// process is a zombie. [Proc] reads the space's /proc: command lines; group, session and credentials of a
// process after a system call that may have changed them; all processes when records were lost.
// [Images] limits the wait for a command line, which a process can hold up.
//
// # Order
//
// The ring keeps the order of reservations, and a reservation is made inside the system call that
// it reports: the fork tracepoint runs before the child runs and before clone returns to the
// parent; the exit tracepoint before any process can have waited for the process; the exec
// tracepoint before the new program runs. So the record of an action is reserved before anything
// that the process does afterwards. A reader that has seen such a thing (bytes in a pipe, a status
// from wait) and then calls [Source.Read] gets the record in that call: Read reads the ring's
// producer position, which is after the reservation, and waits for the records before it that are
// not yet committed.
//
// # Stops
//
// A stop or a continue is of the whole process, as wait(2) shows it. bpf/stops.h says where they
// are noted. A continue is noted before the process goes on. A stop is noted before the parent is
// told by SIGCHLD or woken from wait(2), so that the above holds for the parent's output. Two
// answers may come before the record: that to a parent that polls (WNOHANG) at that moment and, for
// about a microsecond, that to a parent that wants no SIGCHLD for stops (SA_NOCLDSTOP).
//
// # Wake-ups
//
// A record wakes the reader only when the reader has released everything before it (the kernel's own
// rule, Documentation/bpf/ringbuf.rst), and [Source.Wait] lets two milliseconds pass after it was
// woken. While births are held their records are kept, so that more births and the ends of such young
// processes wake nobody. A record of a process that has been reported does; the programs know it by
// its start ([Source.Told]). So there are at most 500 wake-ups a second, whatever the processes do,
// and 20 where all are young. Births and ends of processes that were started from the front end are
// not in the ring: init reports them.
//
// # Notices
//
// Notices cannot wait behind records, so they have a ring and a reader of their own
// ([Source.Attend]). A notice says that the cursor has come to where it must be moved, that a task,
// which may be a thread, got a number that it should not have, or that the ring of records is half
// full. The reader of notices can hold the space, so that no number is wrong and no record lost.
// Meanwhile a fork whose number is beyond the node's block takes half a millisecond longer, near the end of the
// gap and beyond it four (before Linux 5.17 half a one, too). If the
// reader is too late for the records, the last quarter of the ring is for ends: other changes can
// still be seen in the processes then.
//
// # Cost
//
// A space has one ring of kernel memory, 16 MiB by default, which is room for 262,000 records. A
// fork outside the space costs two reads of kernel memory, in another PID namespace two more for
// each level; a signal less; each switch of context from one thread to another one read: on a
// virtual machine 60 to 100 ns, nearly all of which is the tracepoint itself. BenchmarkFork and
// BenchmarkSwitch measure it.
//
// The package needs Linux 5.10 with BTF, and CAP_BPF with CAP_PERFMON or CAP_SYS_ADMIN.
//
// A Source locks itself, and the function given to Read runs under that lock. Attend, Arm, Allow,
// Last, Emptied, Lost and Produced have other locks, which are never held for long. A Tracker is
// used under its owner's lock. The owner takes that lock before it calls Read, so that records
// reach the Tracker in the order of the ring.
package procevents

// Package sysmon lets the monitor thread of the Go runtime sleep longer.
//
// That thread (sysmon in runtime/proc.go) makes sure that a goroutine that computes or waits in a
// system call does not keep its processor, in the scheduler's sense, from others. While any
// goroutine runs, and for a while afterwards, it wakes up every 20 microseconds, with the kernel's
// default slack every 70. A daemon that does a little for each of many messages is always in such a
// while: a third of the daemons' processor time for one command was that of their monitor threads.
//
// The kernel may delay the timers of a thread by the thread's slack (prctl(2), PR_SET_TIMERSLACK).
// With a slack of some milliseconds the monitor works as often as is useful for a daemon. Only
// taking a processor from a blocking system call becomes slower; such calls are made by package
// longcall, which gives up the processor beforehand. Threads started by the monitor inherit its
// slack, so their timers may be as late.
package sysmon

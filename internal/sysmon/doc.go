// Package sysmon lets the monitor thread of the Go runtime sleep longer.
//
// That thread (sysmon in runtime/proc.go) sees to it that a goroutine which computes or
// waits in a system call does not keep its processor, in the scheduler's sense, from
// others. While anything runs, and for a while afterwards, it wakes up every 20
// microseconds, with the kernel's usual slack every 70. A daemon that does a little for
// each of many messages is always in such a while: a third of the processor time that
// the daemons had for one command was that of their monitor threads.
//
// The kernel lets timers of a thread be late by the thread's slack (prctl(2),
// PR_SET_TIMERSLACK). With one of some milliseconds the monitor does its work as often as is
// of use to a daemon. What becomes slower is to take a processor from a system call that
// waits: those are made by package longcall, which gives it up beforehand. Threads that
// the monitor has started have its slack, too: their timers may be late by as much.
package sysmon

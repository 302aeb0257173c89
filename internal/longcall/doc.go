// Package longcall makes system calls that wait for long, and lets the Go
// scheduler know that beforehand.
//
// For an ordinary system call the runtime expects a short one: the thread keeps
// its processor (in the scheduler's sense) for up to 10 ms, and meanwhile the
// runtime's monitor thread wakes up every 20 to 100 microseconds to see whether
// to take it away. In a daemon most of whose time is such waiting that costs
// more than its work does. Here the processor is given up at once.
package longcall

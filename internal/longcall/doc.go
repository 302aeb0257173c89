// Package longcall makes system calls that are expected to block for long, and tells the Go
// scheduler so in advance.
//
// For an ordinary system call the runtime expects a short one: the thread keeps its processor (in
// the scheduler's sense) for up to 10 ms. Meanwhile the runtime's monitor thread wakes up every 20
// to 100 microseconds to see whether to take the processor away. In a daemon that spends most of
// its time in such calls, that costs more than its work. Here the processor is given up at once.
package longcall

// Package hardware finds out what the machine of a node is: processors, memory, disks,
// interfaces, GPUs.
//
// A child of the daemon reads it, which is the same program (Reexec), with the least priority.
// Reading may hang, need a lot of memory or end the program, and the daemon must not suffer
// from that: it bounds the time and the bytes, and goes without the rest. In the child
// each part is read by itself; one that fails is named in [wire.Hardware].Failed.
//
// A Reader may be used by several goroutines. It reads once at a time.
package hardware

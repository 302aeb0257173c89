// Package hardware finds out what the machine of a node is: processors, memory, disks, interfaces,
// GPUs.
//
// A child of the daemon, which is the same program (Reexec), reads it at the lowest priority.
// Reading may hang, need a lot of memory or end the program, and the daemon must not suffer from
// that: it bounds the time and the bytes, and does without the rest. The child reads each part
// separately; a part that fails is named in [wire.Hardware].Failed.
//
// Several goroutines may use a Reader. It reads once at a time.
package hardware

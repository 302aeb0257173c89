// Package filter is the seccomp filter under which the processes of a process
// space run: which system calls the supervisor outside the space is asked
// about, and the BPF program that finds them (seccomp(2), seccomp_unotify(2)).
//
// Every system call interface that a process can use is covered: the native
// one and, on amd64, those of 32-bit and of x32 programs, on arm64 that of
// 32-bit programs. A call through an interface that the program does not know
// gets ENOSYS, so that nothing passes unseen.
//
// The program looks at nothing but the interface and the call's number, and in
// the order in which kernels since 5.11 can tell beforehand that a number is
// always allowed. Calls that are not asked about then cost a test of one bit.
package filter

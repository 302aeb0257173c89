// Package filter is the seccomp filter under which the processes of a process space run: the system
// calls that the supervisor outside the space decides, and the BPF program that finds them
// (seccomp(2), seccomp_unotify(2)).
//
// Every system call interface that a process can use is covered: the native one and, on amd64,
// those of 32-bit and of x32 programs, on arm64 that of 32-bit programs. A call through an
// interface that the program does not know gets ENOSYS, so that nothing passes unseen.
//
// For calls that the supervisor does not decide, the program looks only at the interface and the
// call's number, in the order in which kernels since 5.11 can tell beforehand that a number is
// always allowed. They then cost a test of one bit. For other calls it also looks at arguments,
// where these leave no doubt.
//
// Init is under the filter itself, and so is a new process before its execve. Their calls need no
// decision, and there may be no supervisor to answer. Such calls carry a secret number of the
// space, the cookie, as their sixth argument, which the kernel does not look at.
package filter

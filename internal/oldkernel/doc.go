// Package oldkernel is for tests: it makes a thread, and what that starts, meet a kernel
// that knows no more system calls and flags than Linux 5.10, the oldest one that bproc
// supports.
//
// A seccomp filter refuses what is newer, with the errno of that kernel. It sees
// the numbers and arguments of calls, not memory: structures, such as those of clone3(2),
// openat2(2) and bpf(2), and files, such as those of procfs and cgroups, are as the running
// kernel has them.
package oldkernel

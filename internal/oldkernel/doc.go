// Package oldkernel is for tests: it makes a thread and its children see a kernel with the system
// calls and flags of Linux 5.10 only, the oldest version that bproc supports.
//
// A seccomp filter rejects newer calls and flags with the errno of that kernel. The filter sees the
// numbers and arguments of calls, but not memory. So structures, such as those of clone3(2),
// openat2(2) and bpf(2), and files, such as those of procfs and cgroups, are those of the running
// kernel.
package oldkernel

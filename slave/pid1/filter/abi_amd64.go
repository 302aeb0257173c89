package filter

import "golang.org/x/sys/unix"

// x32Bit marks the numbers of x32 programs, which share AUDIT_ARCH_X86_64.
const x32Bit = 0x40000000

var abis = []ABI{
	{Arch: unix.AUDIT_ARCH_X86_64, Calls: map[uint32]Call{
		unix.SYS_GETPPID:          Getppid,
		unix.SYS_GETPPID | x32Bit: Getppid,
	}},
	{Arch: unix.AUDIT_ARCH_I386, Calls: map[uint32]Call{64: Getppid}},
}

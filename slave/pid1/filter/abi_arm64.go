package filter

import "golang.org/x/sys/unix"

var abis = []ABI{
	{Arch: unix.AUDIT_ARCH_AARCH64, Calls: map[uint32]Call{unix.SYS_GETPPID: Getppid}},
	{Arch: unix.AUDIT_ARCH_ARM, Calls: map[uint32]Call{64: Getppid}},
}

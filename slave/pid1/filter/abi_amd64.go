package filter

import (
	"maps"

	"golang.org/x/sys/unix"
)

// x32Bit marks the numbers of x32 programs, which share AUDIT_ARCH_X86_64.
const x32Bit = 0x40000000

// Numbers of calls in which x32 programs pass structures of their own. Kernels before 5.4 also take
// them without the mark.
const (
	x32Ptrace     = 521
	x32Sigqueue   = 524
	x32Tgsigqueue = 536
)

var abis = []ABI{
	{Arch: unix.AUDIT_ARCH_X86_64, Native: true, Calls: withX32(map[uint32]Call{
		unix.SYS_GETPPID:           Getppid,
		unix.SYS_GETPGID:           Getpgid,
		unix.SYS_GETSID:            Getsid,
		unix.SYS_SETPGID:           Setpgid,
		unix.SYS_SETSID:            Setsid,
		unix.SYS_KILL:              Kill,
		unix.SYS_TKILL:             Tkill,
		unix.SYS_TGKILL:            Tgkill,
		unix.SYS_RT_SIGQUEUEINFO:   Sigqueue,
		unix.SYS_RT_TGSIGQUEUEINFO: Tgsigqueue,
		unix.SYS_PIDFD_OPEN:        PidfdOpen,
		unix.SYS_PIDFD_SEND_SIGNAL: PidfdSignal,
		unix.SYS_PIDFD_GETFD:       PidfdGetfd,
		unix.SYS_PTRACE:            Ptrace,
		unix.SYS_PRCTL:             Prctl,
		unix.SYS_SETUID:            Credentials,
		unix.SYS_SETGID:            Credentials,
		unix.SYS_SETREUID:          Credentials,
		unix.SYS_SETREGID:          Credentials,
		unix.SYS_SETRESUID:         Setresuid,
		unix.SYS_SETRESGID:         Setresgid,
		x32Ptrace:                  Ptrace,
		x32Sigqueue:                Sigqueue32,
		x32Tgsigqueue:              Tgsigqueue32,
	})},
	{Arch: unix.AUDIT_ARCH_I386, Calls: with32(map[uint32]Call{
		270: Tgkill,
		335: Tgsigqueue32,
	})},
}

// withX32 adds the numbers of x32 programs.
func withX32(calls map[uint32]Call) map[uint32]Call {
	all := maps.Clone(calls)
	for nr, call := range calls {
		if call == PidfdSignal {
			call = PidfdSignal32
		}
		all[nr|x32Bit] = call
	}
	return all
}

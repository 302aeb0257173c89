package filter

import "golang.org/x/sys/unix"

var abis = []ABI{
	{Arch: unix.AUDIT_ARCH_AARCH64, Native: true, Calls: map[uint32]Call{
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
	}},
	{Arch: unix.AUDIT_ARCH_ARM, Calls: with32(map[uint32]Call{
		268: Tgkill,
		363: Tgsigqueue32,
	})},
}

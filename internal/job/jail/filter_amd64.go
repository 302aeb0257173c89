package jail

import (
	"debug/elf"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"
)

const auditArch = unix.AUDIT_ARCH_X86_64

// machines are those of programs that kernels of this architecture execute.
var machines = []elf.Machine{elf.EM_X86_64, elf.EM_386}

// deniedHere are denied calls that only this architecture has.
var deniedHere = map[uint32]capability.Cap{
	unix.SYS_IOPERM: capability.CAP_SYS_RAWIO,
	unix.SYS_IOPL:   capability.CAP_SYS_RAWIO,
	unix.SYS_SYSFS:  never,
	unix.SYS_USELIB: never,
}

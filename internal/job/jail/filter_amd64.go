package jail

import (
	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"
)

const auditArch = unix.AUDIT_ARCH_X86_64

// deniedHere are denied calls that only this architecture has.
var deniedHere = map[uint32]capability.Cap{
	unix.SYS_IOPERM: capability.CAP_SYS_RAWIO,
	unix.SYS_IOPL:   capability.CAP_SYS_RAWIO,
	unix.SYS_SYSFS:  never,
	unix.SYS_USELIB: never,
}

package jail

import (
	"debug/elf"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"
)

const auditArch = unix.AUDIT_ARCH_AARCH64

// machines are those of programs that kernels of this architecture execute.
var machines = []elf.Machine{elf.EM_AARCH64, elf.EM_ARM}

var deniedHere map[uint32]capability.Cap // none that other architectures lack

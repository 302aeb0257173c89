package jail

import (
	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"
)

const auditArch = unix.AUDIT_ARCH_AARCH64

var deniedHere map[uint32]capability.Cap // none that other architectures lack

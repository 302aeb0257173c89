package ghost

import (
	"os"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
)

// thisBoot returns a number for this boot of the front end, the same for each keeper: it is that of the
// keeper's PID namespace, since a front end may be a container. It is never 0.
func thisBoot() uint64 {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, the rest is enough on most machines
	stat, _ := os.ReadFile("/proc/1/stat")
	var namespace unix.Stat_t
	_ = unix.Stat("/proc/self/ns/pid", &namespace)
	return procstat.NamespaceID(id, namespace.Ino, stat)
}

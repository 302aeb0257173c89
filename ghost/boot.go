package ghost

import (
	"bytes"
	"hash/fnv"
	"os"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
)

// thisBoot returns a number for this boot of the front end, the same for each keeper. A front end
// that is a container boots without its kernel, so the number is made of the kernel's boot id, the
// PID namespace and the start time of its init. It is never 0.
func thisBoot() uint64 {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, the rest is enough on most machines
	stat, _ := os.ReadFile("/proc/1/stat")
	var namespace unix.Stat_t
	_ = unix.Stat("/proc/self/ns/pid", &namespace)
	return bootNumber(id, namespace.Ino, stat)
}

func bootNumber(id []byte, namespace uint64, initStat []byte) uint64 {
	h := fnv.New64a()
	h.Write(bytes.TrimSpace(id))
	for range 8 {
		h.Write([]byte{byte(namespace)})
		namespace >>= 8
	}
	h.Write(procstat.Stat(initStat).Field(procstat.Start))
	return max(h.Sum64(), 1)
}

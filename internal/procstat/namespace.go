package procstat

import (
	"bytes"
	"hash/fnv"
)

// NamespaceID returns a number for a PID namespace, the same as long as it lives: made of the kernel's boot
// id (proc_sys_kernel(5)), the inode number of the namespace, and the time when its init was started. An inode
// number may be used again; a machine that is a container boots without its kernel. It is never 0.
func NamespaceID(boot []byte, inode uint64, init Stat) uint64 {
	h := fnv.New64a()
	h.Write(bytes.TrimSpace(boot))
	for range 8 {
		h.Write([]byte{byte(inode)})
		inode >>= 8
	}
	h.Write(init.Field(Start))
	return max(h.Sum64(), 1)
}

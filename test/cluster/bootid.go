package cluster

import (
	"crypto/rand"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// bootIDFile is mounted as /proc/sys/kernel/random/boot_id (proc_sys_kernel(5)): the kernel's is the
// host's, and a machine has another one each time it is switched on.
const bootIDFile = "/run/boot_id"

// giveBootID gives this machine a boot id.
func giveBootID() error {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	id := fmt.Sprintf("%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	if err := os.WriteFile(bootIDFile, []byte(id), 0o444); err != nil {
		return err
	}
	return mount(bootIDFile, "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, "")
}

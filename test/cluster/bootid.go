package cluster

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// newBootID gives this machine a boot id of its own (proc_sys_kernel(5)): the kernel's is the
// host's, and would be that of its former boot.
func newBootID() error {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	id := fmt.Sprintf("%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	const file = "/run/boot_id"
	if err := os.WriteFile(file, []byte(id), 0o444); err != nil {
		return err
	}
	err := mount(file, "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, "")
	return errors.Join(err, os.Remove(file)) // the mount keeps it
}

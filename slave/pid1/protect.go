package pid1

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// protect makes the files read-only by which root of the space would change what
// numbers its processes get. Init writes by descriptors that it has open. It is a
// guard against accidents (sysctl(8)), since root can also unmount what is mounted
// here, or mount another procfs: only what is mounted in another user namespace is
// locked (mount_namespaces(7)).
func protect() error {
	const inert = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	for _, file := range []string{cursorFile, pidMaxFile} {
		if err := unix.Mount(file, file, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", file, err)
		}
		if err := unix.Mount("", file, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|inert, ""); err != nil {
			return fmt.Errorf("make %s read-only: %w", file, err)
		}
	}
	return nil
}

package pid1

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// protect makes the files read-only with which root of the space would change what numbers its
// processes get. Init writes through descriptors that it has open. This guards against accidents
// (sysctl(8)): root can also unmount what is mounted here, or mount another procfs, since only
// mounts of another user namespace are locked (mount_namespaces(7)).
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

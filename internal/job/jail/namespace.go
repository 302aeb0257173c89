package jail

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// isolate enters new namespaces. Mounts made in them do not appear outside.
func isolate() error {
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("make the namespaces of the job: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("take the mounts of the job out of the node's: %w", err)
	}
	return nil
}

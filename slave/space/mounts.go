package space

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
)

// withRoot calls start with the root of the space bound at dir, in a mount namespace for this call
// and what it starts. The node itself never has the mount, so nothing is left if the daemon dies at
// any moment. The namespace belongs to a thread, which ends with this call.
func withRoot(root, dir string, start func() error) error {
	return ownthread.Do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("mount namespace: %w", err)
		}
		if err := bindRoot(root, dir); err != nil {
			return err
		}
		return start()
	})
}

func bindRoot(root, dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount(root, dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s on %s: %w", root, dir, err)
	}
	// The node's /proc must not lie below the space's own.
	for {
		err := unix.Unmount(dir+"/proc", unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		switch {
		case err == nil:
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // not mounted
			return nil
		default:
			return fmt.Errorf("unmount %s/proc: %w", dir, err)
		}
	}
}

package enter

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// fuseMagic is FUSE_SUPER_MAGIC of linux/magic.h.
const fuseMagic = 0x65735546

// ErrNoView means that the directory has no view to mount over /proc.
var ErrNoView = errors.New("no view is mounted there; is bpprocfs running?")

// View puts the calling thread, which must be locked, into a mount namespace of its own, in which
// the view that is mounted on a directory is also mounted over /proc. It needs CAP_SYS_ADMIN.
//
// The directory must be root's: a user who may mount on it decides what set-uid programs see as
// /proc.
func View(at string) error {
	var fs unix.Statfs_t
	switch err := unix.Statfs(at, &fs); {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("view %s: %w", at, ErrNoView)
	case errors.Is(err, unix.ENOTCONN): // FUSE without a server
		return fmt.Errorf("view %s: its bpprocfs has ended: 'systemctl restart bpprocfs' or the next one mounts it again", at)
	case err != nil:
		return fmt.Errorf("view %s: %w", at, err)
	}
	if fs.Type != fuseMagic {
		return fmt.Errorf("view %s: %w", at, ErrNoView)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	// Mounts made here stay in the new namespace; mounts made and undone outside propagate into it.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make mounts dependent: %w", err)
	}
	view, err := copyOf(at)
	if err != nil {
		return err
	}
	defer unix.Close(view)
	if err := base(at); err != nil {
		return err
	}
	return put(view)
}

// base first mounts what is below the view over /proc, if that is a procfs: the next view is
// mounted on top of that, here as well.
func base(at string) error {
	if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", at, err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(at, &fs); err != nil {
		return fmt.Errorf("below the view on %s: %w", at, err)
	}
	if fs.Type != unix.PROC_SUPER_MAGIC {
		return nil
	}
	below, err := copyOf(at)
	if err != nil {
		return err
	}
	defer unix.Close(below)
	return put(below)
}

// copyOf returns a copy of the mount on a directory, with all mounts in it.
func copyOf(at string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, at, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("copy the mount on %s: %w", at, err)
	}
	return fd, nil
}

// put mounts a copy over /proc.
func put(tree int) error {
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount over /proc: %w", err)
	}
	return nil
}

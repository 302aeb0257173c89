package jail

import (
	"errors"
	"fmt"
	"os"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// remountFlags maps attributes of mount_setattr(2) to flags of mount(2).
var remountFlags = map[uint64]uintptr{
	unix.MOUNT_ATTR_RDONLY: unix.MS_RDONLY,
	unix.MOUNT_ATTR_NOSUID: unix.MS_NOSUID,
	unix.MOUNT_ATTR_NODEV:  unix.MS_NODEV,
	unix.MOUNT_ATTR_NOEXEC: unix.MS_NOEXEC,
}

// remount sets attributes of the mount of a descriptor, mount by mount, for kernels without
// mount_setattr(2).
func remount(fd int, below bool, attributes uint64) error {
	path, err := os.Readlink(link(fd)) // the kernel lists mounts by their real paths
	if err != nil {
		return err
	}
	filter := mountinfo.SingleEntryFilter(path)
	if below {
		filter = mountinfo.PrefixFilter(path)
	}
	mounts, err := mountinfo.GetMounts(filter)
	if err == nil && len(mounts) == 0 {
		err = errors.New("nothing is mounted there")
	}
	if err != nil {
		return fmt.Errorf("remount %s: %w", path, err)
	}
	flags := uintptr(unix.MS_BIND | unix.MS_REMOUNT)
	for attribute, flag := range remountFlags {
		if attributes&attribute != 0 {
			flags |= flag
		}
	}
	for _, m := range mounts {
		var fs unix.Statfs_t
		if err := unix.Statfs(m.Mountpoint, &fs); err != nil {
			return err
		}
		const kept = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC // ST_ flags have the same bits
		if err := unix.Mount("", m.Mountpoint, "", flags|uintptr(fs.Flags)&kept, ""); err != nil {
			return fmt.Errorf("remount %s: %w", m.Mountpoint, err)
		}
	}
	return nil
}

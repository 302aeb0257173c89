package space

import (
	"errors"
	"fmt"
	"os"

	"github.com/opencontainers/runc/libcontainer/configs"
	"golang.org/x/sys/unix"
)

// layView makes the later mount point of the view a mount that propagates what is mounted on it
// into the space (mount_namespaces(7)). It is the only mount outside of the space, and is removed
// with it.
func (c *Config) layView() error {
	if c.View == "" {
		return nil
	}
	if err := os.MkdirAll(c.View, 0o755); err != nil {
		return fmt.Errorf("mount point of the view: %w", err)
	}
	if err := c.clearView(); err != nil {
		return err
	}
	if err := unix.Mount(c.View, c.View, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", c.View, err)
	}
	if err := unix.Mount("", c.View, "", unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share the mounts on %s: %w", c.View, err)
	}
	return nil
}

// clearView unmounts the view and the mount below it.
func (c *Config) clearView() error {
	for c.View != "" {
		err := unix.Unmount(c.View, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		switch {
		case err == nil:
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // nothing is mounted
			return nil
		default:
			return fmt.Errorf("unmount %s: %w", c.View, err)
		}
	}
	return nil
}

// viewMounts returns the mount of the view's directory for a space that does not have the node's
// root.
func (c *Config) viewMounts() []*configs.Mount {
	if c.View == "" || c.Root == "/" {
		return nil
	}
	return []*configs.Mount{{Source: c.View, Destination: c.View, Device: "bind", Flags: unix.MS_BIND | unix.MS_REC}}
}

package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// connection is the connection of a FUSE file system. No descriptor of the file system is kept,
// because it could not be unmounted then.
type connection struct {
	mountpoint string
	minor      uint32 // minor number of its device, which is its name in fusectl
}

// Abort ends the connection of the file system that is mounted on a directory: processes that wait
// for its server get an error.
func Abort(mountpoint string) error {
	c, err := find(mountpoint)
	if err != nil {
		return err
	}
	return c.abort()
}

// find returns the connection of the file system that is mounted on a directory, without asking its
// server.
func find(mountpoint string) (connection, error) {
	root, minor, err := open(mountpoint)
	if err != nil {
		return connection{}, err
	}
	return connection{mountpoint, minor}, unix.Close(root)
}

func open(mountpoint string) (root int, minor uint32, err error) {
	root, err = unix.Open(mountpoint, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, 0, fmt.Errorf("open %s: %w", mountpoint, err)
	}
	var st unix.Statx_t
	if err := unix.Statx(root, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, 0, &st); err != nil {
		_ = unix.Close(root)
		return -1, 0, fmt.Errorf("statx %s: %w", mountpoint, err)
	}
	return root, st.Dev_minor, nil
}

// abort ends the connection. The file system stays mounted if it is in use; it answers ENOTCONN
// from now on.
func (c connection) abort() error {
	err := c.force()
	if err == nil {
		return nil
	}
	return c.control(err)
}

var errHidden = errors.New("something else is mounted there")

// force tries a forced unmount, which ends the connection whether it succeeds or not
// (fuse_umount_begin of fs/fuse/inode.c). It needs the right to mount, and fails if something is
// mounted over the file system.
func (c connection) force() error {
	root, minor, err := open(c.mountpoint)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	if minor != c.minor {
		return fmt.Errorf("%s: %w", c.mountpoint, errHidden)
	}
	err = unix.Unmount(fmt.Sprintf("/proc/self/fd/%d", root), unix.MNT_FORCE)
	if err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("unmount %s: %w", c.mountpoint, err)
	}
	return nil
}

// fusectl has a directory for each connection.
const fusectl = "/sys/fs/fuse/connections"

// control ends the connection by its file in fusectl.
func (c connection) control(before error) error {
	file, err := os.OpenFile(filepath.Join(fusectl, fmt.Sprint(c.minor), "abort"), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("abort connection %d: %w", c.minor, errors.Join(before, err))
	}
	_, err = file.WriteString("1")
	return errors.Join(err, file.Close())
}

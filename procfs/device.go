package procfs

import (
	"errors"
	"fmt"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
)

// device is the descriptor of /dev/fuse that serves the view, or -1 if only go-fuse knows it.
//
// When the server is killed, the kernel ends the requests that were read from a descriptor as soon
// as the last thread that shares it is dead (fuse_dev_release of fs/fuse/dev.c). A thread that
// waits for such a request, or for a directory that the reader of one has locked, cannot die. So no
// thread that may wait shares the descriptor:
//
//	threads that take requests       never wait for the view
//	  descriptor N: /dev/fuse
//	threads by apart                 mount in the view, notify the kernel, and check that the
//	                                 view answers
//	  descriptor N: a clone          has not taken any request
//
// One case remains: a reader holds a lock, and its request has not been taken. The kernel keeps
// that request while the clone is open; package guard frees the reader.
type device int

const noDevice device = -1

// maxRead is the size of the kernel's largest read request; go-fuse calls it MaxWrite.
const maxRead = 128 << 10

// deviceClone is FUSE_DEV_IOC_CLONE of linux/fuse.h.
const deviceClone = 0x8004e500

// mountDevice mounts a view on a directory, and returns the descriptor that serves it.
func mountDevice(at string, options *fuse.MountOptions) (device, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return noDevice, fmt.Errorf("open /dev/fuse: %w", err)
	}
	data := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d,default_permissions",
		fd, unix.S_IFDIR, unix.Geteuid(), unix.Getegid(), maxRead)
	if options.AllowOther {
		data += ",allow_other"
	}
	if err := unix.Mount(fsName, at, "fuse."+fsName, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY, data); err != nil {
		_ = unix.Close(fd)
		return noDevice, err
	}
	return device(fd), nil
}

// mount mounts the view, by fusermount3(1) if this process may not.
func (v *View) mount() (server *fuse.Server, err error) {
	options := v.options()
	v.device, err = mountDevice(v.cfg.Mountpoint, options)
	if err != nil {
		v.log.Debug("mount by fusermount3(1)", "err", err)
		return fuse.NewServer(newRequests(v), v.cfg.Mountpoint, options)
	}
	v.number, err = mountedOn(v.cfg.Mountpoint)
	if err == nil {
		server, err = fuse.NewServer(newRequests(v), fmt.Sprintf("/dev/fd/%d", v.device), options)
	}
	if err != nil {
		err = errors.Join(err, unix.Unmount(v.cfg.Mountpoint, unix.MNT_DETACH))
	}
	return server, err
}

// apart runs f on a thread of its own that does not share the descriptor. It runs f even if that
// fails: the only cost is that a killed server needs its guard.
func (d device) apart(f func() error) error {
	if d == noDevice {
		return f()
	}
	return ownthread.Do(func() error {
		err := d.unshare()
		return errors.Join(err, f())
	})
}

// unshare gives the calling thread its own descriptors, with a clone in place of this one.
func (d device) unshare() error {
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return fmt.Errorf("unshare descriptors: %w", err)
	}
	clone, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/fuse: %w", err)
	}
	defer unix.Close(clone)
	if err := unix.IoctlSetPointerInt(clone, deviceClone, int(d)); err != nil {
		return fmt.Errorf("clone the descriptor of /dev/fuse: %w", err)
	}
	if err := unix.Dup3(clone, int(d), unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("replace the descriptor of /dev/fuse: %w", err)
	}
	return nil
}

// withoutGuard is the warning for a thread that shares the descriptor and may wait.
const withoutGuard = "the view would wait for itself if it were killed with its guard"

// tellKernel makes the kernel forget names. It ignores names that the kernel does not know
// (ENOENT).
func (v *View) tellKernel(places []place) {
	err := v.device.apart(func() error {
		for _, p := range places {
			v.kernel.EntryNotify(p.parent, p.name)
		}
		return nil
	})
	if err != nil {
		v.log.Warn(withoutGuard, "err", err)
	}
}

package procfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"bproc/procfs/guard"
)

// prepare makes the mount point ready: it unmounts a dead view, and with Keep it mounts the real
// procfs.
//
// That mount is shared (mount_namespaces(7)): mounts on it propagate to all namespaces that have a
// copy of it, wherever the copy is mounted, and so do unmounts.
func (v *View) prepare() error {
	at := v.cfg.Mountpoint
	if v.cfg.Keep {
		if !v.inside {
			return fmt.Errorf("keep the real procfs on %s: %w; that needs CAP_SYS_ADMIN", at, unix.EPERM)
		}
		if err := unix.Mkdir(at, 0o755); err != nil && errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("mount point %s: %w", at, err)
		}
	}
	for range 8 { // more than are expected
		fs, err := v.probe()
		if err == nil {
			if fs.Type == fuseMagic && covered(at) {
				return fmt.Errorf("mount point %s: %w", at, ErrServed)
			}
			if !v.cfg.Keep || fs.Type == unix.PROC_SUPER_MAGIC {
				return nil
			}
			return v.lay(at)
		}
		if !errors.Is(err, unix.ENOTCONN) {
			return fmt.Errorf("mount point %s: %w", at, err)
		}
		if err := v.bury(); err != nil {
			return fmt.Errorf("unmount the view that has died on %s: %w", at, err)
		}
	}
	return fmt.Errorf("mount point %s: %w", at, unix.EBUSY)
}

// bury unmounts a dead view.
func (v *View) bury() error {
	at := v.cfg.Mountpoint
	err := unix.Unmount(at, unix.MNT_DETACH)
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	// An ordinary user's view.
	if out, err := exec.Command("fusermount3", "-u", "-z", at).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// deaf is how long a mounted view may take to answer before it is taken to be dead. A live view
// does not wait for a node to answer this.
const deaf = 10 * time.Second

// probe returns the file system on the mount point. A view whose server was killed together with
// its guard may still have its connection; probe ends that.
func (v *View) probe() (fs unix.Statfs_t, err error) {
	at := v.cfg.Mountpoint
	answered := make(chan error, 1)
	go func() {
		err := unix.Statfs(at, &fs)
		// A server that is ending at this moment may still take the request with it.
		for begin := time.Now(); (errors.Is(err, unix.EIO) || errors.Is(err, unix.ECONNABORTED)) && time.Since(begin) < deaf; {
			time.Sleep(10 * time.Millisecond)
			err = unix.Statfs(at, &fs)
		}
		answered <- err
	}()
	select {
	case err = <-answered:
		return fs, err
	case <-time.After(v.deaf):
	}
	if !mountedView(at) {
		return fs, unix.ETIMEDOUT
	}
	v.log.Warn("a view that does not answer is ended", "path", at)
	if err := guard.Abort(at); err != nil {
		return fs, err
	}
	return fs, <-answered
}

// mountedView reports whether the topmost mount on a directory is a view.
func mountedView(at string) bool {
	at = filepath.Clean(at)
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != at, false })
	return err == nil && len(mounts) > 0 && mounts[len(mounts)-1].FSType == "fuse."+fsName
}

// ErrServed means that a view is already mounted.
var ErrServed = errors.New("another view, or another file system in user space, is mounted there")

// fuseMagic is FUSE_SUPER_MAGIC of linux/magic.h.
const fuseMagic = 0x65735546

// covered reports whether a file system is mounted on a directory.
func covered(at string) bool {
	var here, above unix.Stat_t
	return unix.Stat(at, &here) == nil && unix.Stat(filepath.Join(at, ".."), &above) == nil && here.Dev != above.Dev
}

// mountedOn returns the device number of the file system that a directory is of. It does not ask a
// server.
func mountedOn(at string) (uint64, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, at, unix.AT_STATX_DONT_SYNC, 0, &st); err != nil {
		return 0, fmt.Errorf("statx %s: %w", at, err)
	}
	return unix.Mkdev(st.Dev_major, st.Dev_minor), nil
}

// fuseConf is the configuration of fusermount3(1).
const fuseConf = "/etc/fuse.conf"

// mayAllowOthers reports whether this user may mount a file system that other users can access.
// Otherwise only the user can access the view.
func mayAllowOthers() bool {
	if os.Geteuid() == 0 {
		return true
	}
	text, err := os.ReadFile(fuseConf)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "user_allow_other" {
			return true
		}
	}
	return false
}

// unmounted adds to an error what a user needs to mount a view.
func unmounted(at string, err error) error {
	if os.Geteuid() == 0 {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	return fmt.Errorf("mount %s: %w (an ordinary user needs fusermount3, set-uid, the right to open /dev/fuse, and the directory)", at, err)
}

// lay mounts the real procfs on the mount point. The mount stays, so it must be possible to unmount it.
func (v *View) lay(at string) error {
	tree, err := copyProc(v.cfg.Space, false)
	if err != nil {
		return err
	}
	if err := attach(tree, at); err != nil {
		return err
	}
	if err := unix.Mount("", at, "", unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share the mounts on %s: %w", at, err)
	}
	return nil
}

// attach mounts a copy of the real procfs, and closes its descriptor, which would prevent an
// unmount.
func attach(tree int, at string) error {
	defer unix.Close(tree)
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount procfs on %s: %w", at, err)
	}
	return nil
}

// open mounts the real procfs in the view, and calls Ready.
func (v *View) open(ctx context.Context, server *fuse.Server) error {
	if err := server.WaitMount(); err != nil {
		return fmt.Errorf("wait for the mount on %s: %w", v.cfg.Mountpoint, err)
	}
	if err := v.device.apart(func() error { return refusePolls(v.cfg.Mountpoint) }); err != nil {
		return err
	}
	if v.inside {
		err := v.device.apart(func() error {
			return attach(v.tree, filepath.Join(v.cfg.Mountpoint, own, passage))
		})
		v.closeTree() // attach has closed another thread's descriptor
		if err != nil {
			return err
		}
	}
	// The nodes' first answers are long: no reader should wait for them.
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v.refresh(ctx)
	if v.cfg.Ready != nil {
		v.cfg.Ready()
	}
	return nil
}

// closeTree closes the copy of the real procfs.
func (v *View) closeTree() {
	if v.tree >= 0 {
		_ = unix.Close(v.tree)
		v.tree = -1
	}
}

// unmount unmounts the view. Programs that use it keep it, but no other program finds it.
func (v *View) unmount(server *fuse.Server) error {
	if v.device == noDevice {
		return server.Unmount() // by fusermount3(1)
	}
	// Another process may have unmounted it. With Keep the real procfs is there then, and stays.
	if now, err := mountedOn(v.cfg.Mountpoint); err == nil && now != v.number {
		return nil
	}
	err := unix.Unmount(v.cfg.Mountpoint, unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmount %s: %w", v.cfg.Mountpoint, err)
	}
	return nil
}

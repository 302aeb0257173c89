package jail

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Mount points of a job may be in directories that its user can write to. Other processes of the
// job may change these meanwhile, and put a symbolic link in place of a directory. So mounts are
// not made on paths, but on descriptors to which the paths led in the root of the job, which links
// cannot leave.

// errChanged is the error if directories change while they are being mounted.
var errChanged = errors.New("it was changed meanwhile")

// bind mounts a directory or another file on a path.
func (r *root) bind(fd int, path string, attributes uint64) error {
	if err := r.put(fd, path, attributes); err != nil {
		return fmt.Errorf("mount %s for the job: %w", path, err)
	}
	return nil
}

func (r *root) put(fd int, path string, attributes uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	point, err := r.point(path, st.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	err = unix.Mount(link(fd), link(point), "", unix.MS_BIND|unix.MS_REC, "")
	unix.Close(point)
	if err != nil {
		return err
	}
	mounted, err := r.mounted(path, &st)
	if err != nil {
		return err
	}
	defer unix.Close(mounted)
	if err := unix.Mount("", link(mounted), "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return setattrOf(mounted, true, attributes)
}

// link returns a path that leads to the file of a descriptor.
func link(fd int) string { return fmt.Sprintf("/proc/thread-self/fd/%d", fd) }

// find opens the file that the job will see at a path. Below the directories for what jobs keep, where users can
// exchange what is there, no symbolic link is followed.
func (r *root) find(path string) (fd int, err error) {
	for _, kept := range []string{"data", "store", "sys/log"} {
		base := filepath.Join(r.Root, kept)
		rel, err := filepath.Rel(base, path)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		dir, err := openFrom(r.top, base, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
		if err != nil {
			return -1, err
		}
		defer unix.Close(dir)
		return openFrom(dir, rel, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS)
	}
	return openFrom(r.top, path, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
}

// openFrom opens a path from a directory on.
func openFrom(dir int, path string, resolve uint64) (fd int, err error) {
	const tries = 100 // EAGAIN: another process renames directories
	for range tries {
		fd, err = unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	return fd, err
}

// point opens the mount point of a path, and makes it if it is missing. Below a mount it is made on
// the node.
func (r *root) point(path string, dir bool) (int, error) {
	fd, err := r.find(path)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	above, err := r.point(filepath.Dir(path), true)
	if err != nil {
		return -1, err
	}
	defer unix.Close(above)
	name := filepath.Base(path)
	if dir {
		err = unix.Mkdirat(above, name, 0o755)
	} else if fd, err = unix.Openat(above, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644); err == nil {
		unix.Close(fd)
	}
	if err != nil { // also for a dangling link
		return -1, err
	}
	return unix.Openat2(above, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
}

// mounted opens the mount that was made on a path.
func (r *root) mounted(path string, what *unix.Stat_t) (int, error) {
	fd, err := r.find(path)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	var x unix.Statx_t
	err = errors.Join(unix.Fstat(fd, &st), unix.Statx(fd, "", unix.AT_EMPTY_PATH, 0, &x))
	if err == nil && (st.Dev != what.Dev || st.Ino != what.Ino || x.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0) {
		err = errChanged
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

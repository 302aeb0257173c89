package procfs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
	"bproc/wire"
)

// real is the real procfs of this machine, by descriptor: it stays the same whatever is mounted
// over its path.
type real struct {
	dir       *os.File
	mountable bool // it is a mount, which can be copied
}

// procPath is the path of the real procfs.
const procPath = "/proc"

// openReal opens the procfs in the mount namespace of a process, or in this one (0).
func openReal(space int) (real, error) {
	fd, err := copyProc(space, true)
	mountable := err == nil
	switch {
	case mountable:
	case space != 0:
		return real{}, err
	default:
		fd, err = unix.Open(procPath, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return real{}, fmt.Errorf("open %s: %w", procPath, err)
	}
	var fs unix.Statfs_t
	if err = unix.Fstatfs(fd, &fs); err == nil && fs.Type != unix.PROC_SUPER_MAGIC {
		err = errors.New("it is no procfs here")
	}
	if err != nil {
		return real{}, errors.Join(fmt.Errorf("statfs %s: %w", procPath, err), unix.Close(fd))
	}
	return real{os.NewFile(uintptr(fd), procPath), mountable}, nil
}

// copyProc returns a copy of the mount of procfs in a process's mount namespace, or in this one
// (0), with the mounts in it, automatic ones (autofs(5)) only if they are wanted. The copy is not
// mounted. Mounts on the copy must not propagate to the original, so the copy is private: it is made
// of a private mount in a mount namespace that only this function has. (mount_setattr(2), which
// would not need that, requires Linux 5.12.)
func copyProc(space int, automatic bool) (tree int, err error) {
	tree = -1
	err = ownthread.Do(func() error {
		var self *os.File
		if !automatic { // in the mount namespace of a process space, this thread has no number in /proc
			if self, err = os.Open(procPath + "/thread-self"); err != nil {
				return fmt.Errorf("copy the mount of %s: %w", procPath, err)
			}
			defer self.Close()
		}
		if space != 0 {
			if err := enterMounts(space); err != nil {
				return err
			}
		}
		if err := leaveProc(); err != nil {
			return err
		}
		if !automatic {
			if err := unmountAutomatic(self); err != nil {
				return err
			}
		}
		tree, err = copyMount()
		return err
	})
	return tree, err
}

// enterMounts moves the calling thread into the mount namespace of a process.
func enterMounts(pid int) error {
	path := fmt.Sprintf("/proc/%d/ns/mnt", pid)
	ns, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(ns)
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // else setns(2) fails
		return fmt.Errorf("unshare the working directory: %w", err)
	}
	if err := unix.Setns(ns, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("setns %s: %w", path, err)
	}
	return nil
}

// leaveProc moves the calling thread into a copy of its mount namespace with a private /proc.
func leaveProc() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", procPath, "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mount of %s private: %w", procPath, err)
	}
	return nil
}

// unmountAutomatic unmounts the automatic mounts below /proc in the namespace of the calling thread,
// which is its own. self is the thread's directory in procfs. systemd has such a mount there, and
// does not unmount a copy of it, so that at shutdown the mount that has the copy would be busy.
func unmountAutomatic(self *os.File) error {
	fd, err := unix.Openat(int(self.Fd()), "mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("look for automatic mounts in %s: %w", procPath, err)
	}
	list := os.NewFile(uintptr(fd), "mountinfo")
	defer list.Close()
	automatic := map[string]bool{}
	mounts, err := mountinfo.GetMountsFromReader(list, func(m *mountinfo.Info) (skip, stop bool) {
		automatic[m.Mountpoint] = automatic[m.Mountpoint] || m.FSType == "autofs"
		return !strings.HasPrefix(m.Mountpoint, procPath+"/"), false
	})
	if err != nil {
		return fmt.Errorf("look for automatic mounts in %s: %w", procPath, err)
	}
	for _, m := range mounts {
		if !automatic[m.Mountpoint] {
			continue
		}
		// Each call unmounts the topmost of several mounts on one directory. EINVAL: the mount comes from another
		// user namespace, and is locked to those around it. ENOENT: another mount hides it.
		err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH)
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("unmount a copy of %s: %w", m.Mountpoint, err)
		}
	}
	return nil
}

// copyMount returns a copy of the mount of procfs in the namespace of the calling thread.
func copyMount() (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, procPath, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("copy the mount of %s: %w", procPath, err)
	}
	return fd, nil
}

func (r real) fd() int { return int(r.dir.Fd()) }

func (r real) close() { r.dir.Close() }

// stat returns the attributes of a file. It does not follow links.
func (r real) stat(path string) (st unix.Stat_t, errno unix.Errno) {
	return st, errnoOf(unix.Fstatat(r.fd(), path, &st, unix.AT_SYMLINK_NOFOLLOW))
}

// list returns all names in a directory.
func (r real) list(path string) ([]entry, unix.Errno) {
	all, position := []entry(nil), uint64(0)
	err := r.opened(path, func(fd int) error {
		for {
			some, err := listPiece(fd, position)
			if err != nil || len(some) == 0 {
				return err
			}
			all, position = append(all, some...), some[len(some)-1].behind
		}
	})
	return all, errnoOf(err)
}

// listBehind returns some of the names behind a position. Positions are those of the kernel.
func (r real) listBehind(path string, position uint64) (some []entry, errno unix.Errno) {
	err := r.opened(path, func(fd int) (err error) {
		some, err = listPiece(fd, position)
		return err
	})
	return some, errnoOf(err)
}

// opened calls f with a descriptor of a directory.
func (r real) opened(path string, f func(fd int) error) error {
	fd, err := unix.Openat(r.fd(), path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}

// listPiece returns some names behind a position, without the dots. When it returns none, there are no more.
func listPiece(fd int, position uint64) ([]entry, error) {
	if _, err := unix.Seek(fd, int64(max(position, dots)), unix.SEEK_SET); err != nil {
		return nil, err
	}
	b := make([]byte, 32<<10)
	n, err := unix.Getdents(fd, b)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for b = b[:n]; len(b) > 0; {
		var e fuse.DirEntry
		b = b[e.Parse(b):]
		entries = append(entries, entry{e.Name, e.Mode, e.Off})
	}
	return entries, nil
}

// read returns the beginning of a small file, which the kernel returns in one call.
func (r real) read(path string) ([]byte, error) {
	fd, err := unix.Openat(r.fd(), path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	text := make([]byte, 512)
	n, err := unix.Read(fd, text)
	return text[:max(n, 0)], err
}

// link returns the text of a symbolic link.
func (r real) link(path string) (string, unix.Errno) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(r.fd(), path, b)
	if err != nil {
		return "", errnoOf(err)
	}
	return string(b[:n]), 0
}

// typeBits converts Go's type bits to those of st_mode.
func typeBits(m os.FileMode) uint32 {
	switch m.Type() {
	case os.ModeDir:
		return unix.S_IFDIR
	case os.ModeSymlink:
		return unix.S_IFLNK
	default: // /proc has nothing else
		return unix.S_IFREG
	}
}

// errnoOf returns the errno in an error; EIO if there is none.
func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	var errno unix.Errno
	if errors.As(err, &errno) && errno != 0 {
		return errno
	}
	return unix.EIO
}

// number returns the process number that a name in /proc stands for; 0 if none.
func number(name string) wire.PID {
	if name == "" || name[0] < '1' || name[0] > '9' {
		return 0
	}
	n, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return 0
	}
	return wire.PID(n)
}

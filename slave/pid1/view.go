package pid1

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// see puts the view that is mounted on a directory over /proc, in a mount namespace of the
// process's own. The mount below the view there, the real procfs on a shared mount, is put below it
// here, too: so the next view replaces this one here, too (package enter does the same for
// bpns(1)).
//
// It comes before the standard descriptors have their places: the kernel gives next the numbers 0
// and 1, which are init's and closed here.
func (p *plan) see(view string) unix.Errno {
	if view == "" {
		return 0
	}
	var errnos [4]unix.Errno
	var at, none, root, proc uintptr
	at, errnos[0] = p.string(view)
	none, errnos[1] = p.string("")
	root, errnos[2] = p.string("/")
	proc, errnos[3] = p.string("/proc")
	for _, errno := range errnos {
		if errno != 0 {
			return errno
		}
	}
	here := unix.AT_FDCWD
	add := func(trap uintptr, args ...uintptr) { p.add(must, wire.StageSpawn, trap, args...) }
	copyTo := func(fd uintptr) {
		p.add(may, 0, unix.SYS_CLOSE, fd)
		add(unix.SYS_OPEN_TREE, uintptr(here), at, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	}
	put := func(fd uintptr) {
		add(unix.SYS_MOVE_MOUNT, fd, none, uintptr(here), proc, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	add(unix.SYS_UNSHARE, unix.CLONE_NEWNS)
	add(unix.SYS_MOUNT, none, root, none, unix.MS_REC|unix.MS_SLAVE, none)
	copyTo(0)
	add(unix.SYS_UMOUNT2, at, unix.MNT_DETACH)
	copyTo(1)
	put(1)
	put(0)
	return 0
}

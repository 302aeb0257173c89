package space

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
)

// Cover has the processes of the space see one of the node's files in place of another, at a path
// of theirs. It changes nothing if they already do. A file must exist at that path: it is the
// node's own, and nothing is made there.
//
// Replacing the file on the node by rename(2) removes the mount (since Linux 3.18). Cover must then
// be called again.
func (s *Space) Cover(file, at string) error {
	if s.covers(file, at) {
		return nil
	}
	if err := ownthread.Do(func() error { return s.mount(file, at) }); err != nil {
		return fmt.Errorf("mount %s on %s in the process space: %w", file, at, err)
	}
	return nil
}

// covers reports whether the space sees a file at a path.
func (s *Space) covers(file, at string) bool {
	is, err := os.Stat(file)
	seen, errSeen := os.Stat(filepath.Join(fmt.Sprintf("/proc/%d/root", s.initPID), at))
	return err == nil && errSeen == nil && os.SameFile(is, seen)
}

// mount mounts a file in the space, in which the calling thread then stays.
func (s *Space) mount(file, at string) (err error) {
	tree, err := unix.OpenTree(unix.AT_FDCWD, file, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open_tree: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(tree)) }()
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // otherwise setns(2) fails
		return fmt.Errorf("unshare the working directory: %w", err)
	}
	if err := unix.Setns(s.pidfd, unix.CLONE_NEWNS); err != nil { // accepts a pidfd since Linux 5.8
		return fmt.Errorf("setns: %w", err)
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_SYMLINKS)
}

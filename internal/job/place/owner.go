package place

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// ownerHolds returns an error if the owner of a job file does not tell who controls the file. The server of a FUSE
// file system can name any owner, and a hard link has the owner of the other name (link(2)).
func ownerHolds(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Nlink > 1 {
		return fmt.Errorf("%s is a hard link, and may be another user's file: copy it", path)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if fs.Type != unix.FUSE_SUPER_MAGIC {
		return nil
	}
	user, err := mountedBy(fd)
	switch {
	case err != nil:
		return fmt.Errorf("who has mounted the file system of %s: %w", path, err)
	case user != "0":
		return fmt.Errorf("%s is on a file system that user %s has mounted, and that says whose it is", path, user)
	}
	return nil
}

// mountedBy returns the number of the user who has mounted the FUSE file system of a file.
func mountedBy(fd int) (user string, err error) {
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(info), "mnt_id:")
	line, _, _ := strings.Cut(rest, "\n")
	id, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return "", fmt.Errorf("its mount: %w", err)
	}
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.ID != id, m.ID == id })
	if err != nil {
		return "", err
	}
	if len(mounts) != 1 {
		return "", fmt.Errorf("mount %d is not one of this mount namespace", id)
	}
	return mounterIn(mounts[0].VFSOptions), nil
}

// mounterIn returns the number of the user in the options of a FUSE file system. virtiofs, whose server is the
// host of a virtual machine, has no such option; only root can mount it.
func mounterIn(options string) string {
	_, rest, said := strings.Cut(options, "user_id=")
	if !said {
		return "0"
	}
	user, _, _ := strings.Cut(rest, ",")
	return user
}

package place

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// ownerHolds returns an error if the owner of a job file is not what the file's users can be held to: whoever serves a FUSE
// file system says what he likes, and a hard link has the owner of another's file (link(2)).
func ownerHolds(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	if st.Nlink > 1 {
		return fmt.Errorf("%s is a hard link, and may be another user's file: copy it", f.Name())
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return &os.PathError{Op: "statfs", Path: f.Name(), Err: err}
	}
	if fs.Type != unix.FUSE_SUPER_MAGIC {
		return nil
	}
	user, err := mountedBy(f)
	if err == nil && user != "0" {
		err = fmt.Errorf("%s is on a file system that user %s has mounted, and that says whose it is", f.Name(), user)
	}
	return err
}

// mountedBy returns the number of the user who has mounted the FUSE file system of a file.
func mountedBy(f *os.File) (user string, err error) {
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", f.Fd()))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(info), "mnt_id:")
	line, _, _ := strings.Cut(rest, "\n")
	id, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return "", fmt.Errorf("mount of %s: %w", f.Name(), err)
	}
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.ID != id, m.ID == id })
	if err != nil || len(mounts) != 1 {
		return "", fmt.Errorf("mount %d of %s is not found: %w", id, f.Name(), err)
	}
	_, rest, _ = strings.Cut(mounts[0].VFSOptions, "user_id=")
	user, _, _ = strings.Cut(rest, ",")
	return user, nil
}

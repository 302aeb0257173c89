package place

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// User is the owner of logs.
type User struct{ UID, GID int }

// MakeLogs makes the directory for the logs of the job. It belongs to the job's user, and so do the
// logs: if the job had another user before, MakeLogs gives them to the present one. For a privileged
// process, which is root's beside others of the job's user, they stay whose they are.
func (j Job) MakeLogs(u User, privileged bool) error {
	if err := j.makeLogs(u, privileged); err != nil {
		return fmt.Errorf("directory for logs of job %s: %w", j.Name, err)
	}
	return nil
}

func (j Job) makeLogs(u User, privileged bool) error {
	if err := os.MkdirAll(j.Logs(), 0o755); err != nil || privileged {
		return err
	}
	fd, err := unix.Open(j.Logs(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOTDIR) { // a link of root's, who says who owns what it leads to
		return nil
	}
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), j.Logs())
	defer dir.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	former := User{int(st.Uid), int(st.Gid)}
	if former.UID == u.UID {
		return nil
	}
	// The directory comes last: until then the logs that are still to be given can be told by its owner.
	if err := giveLogs(dir, former, u); err != nil {
		return err
	}
	if err := unix.Fchown(fd, u.UID, u.GID); err != nil {
		return err
	}
	return unix.Fchmod(fd, st.Mode&0o755) // the former owner may have let others write
}

// giveLogs gives the logs in a directory to another user. The former owner can have put other files
// there. So it gives only files of the former owner, which no link leads to and which have no further
// names.
func giveLogs(dir *os.File, former, u User) error {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !isLog(name) {
			continue
		}
		if err := giveLog(int(dir.Fd()), name, former, u); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// isLog reports whether a file with this name is a log of a supervisor, or a former one.
func isLog(name string) bool {
	return name == "bpm.log" || strings.Contains(name, ".stdout.log") || strings.Contains(name, ".stderr.log")
}

func giveLog(dir int, name string, former, u User) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1 || int(st.Uid) != former.UID {
		return nil
	}
	if err := unix.Fchownat(fd, "", u.UID, u.GID, unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o600) // as OpenLog makes them
}

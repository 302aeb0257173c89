package place

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenLog opens a log of a user to append to it. The user can write to its directory: a name that leads
// elsewhere is not followed, and a file that has another name is not the log.
func OpenLog(path string, uid, gid int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("log %s is a symbolic link: remove it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1:
		err = errors.New("it is no file, or has other names: remove it")
	default:
		err = f.Chown(uid, gid)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("log %s: %w", path, err)
	}
	return f, nil
}

// MakeLogs makes the directory for logs of the job. It is the user's.
func (j Job) MakeLogs(uid, gid int) error {
	err := os.MkdirAll(j.Logs(), 0o755)
	if err == nil {
		err = os.Lchown(j.Logs(), uid, gid)
	}
	if err != nil {
		return fmt.Errorf("directory for logs of job %s: %w", j.Name, err)
	}
	return nil
}

package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// OpenLog opens a log of a user for appending. A log of root's belongs to the owner of its directory: a
// privileged process may be beside others of the job's user. The user can write to that directory. So
// OpenLog follows no symbolic link, and rejects a file that belongs to another user or has further
// names.
func OpenLog(path string, uid, gid int) (*os.File, error) {
	if uid == 0 {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Dir(path), &st); err != nil {
			return nil, fmt.Errorf("log %s: %w", path, err)
		}
		uid, gid = int(st.Uid), int(st.Gid)
	}
	f, made, err := openOrMake(path)
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
	case made:
		err = f.Chown(uid, gid)
	case st.Uid != uint32(uid): // the user may just have removed its other name
		err = fmt.Errorf("it belongs to user %d: remove it, or give it to user %d", st.Uid, uid)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("log %s: %w", path, err)
	}
	return f, nil
}

// renames is how often a log may be renamed while it is opened.
const renames = 100

// openOrMake opens a log, or makes it. Whoever is beside this process may make it or rename it at any time.
func openOrMake(path string) (f *os.File, made bool, err error) {
	const flags = os.O_WRONLY | os.O_APPEND | unix.O_NOFOLLOW | unix.O_NONBLOCK
	for range renames {
		f, err = os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return f, err == nil, err
		}
		f, err = os.OpenFile(path, flags, 0)
		if !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return f, false, err
}

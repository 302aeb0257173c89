package jail

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// open opens a directory below base, which belongs to root. It follows no symbolic links below
// base, which a job may have made.
func open(base, rel string) (int, error) {
	at, err := unix.Open(base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", base, err)
	}
	defer unix.Close(at)
	fd, err := unix.Openat2(at, rel, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", filepath.Join(base, rel), err)
	}
	return fd, nil
}

// openAsUser is open for a directory whose path an ordinary user has given: all directories on the
// path must be open to that user.
func (r *root) openAsUser(base, rel string) (int, error) {
	if err := spec.SetGroups(r.Groups); err != nil {
		return -1, err
	}
	defer spec.SetFileUser(0, 0)
	spec.SetFileUser(r.UID, r.GID)
	return open(base, rel)
}

// ensure opens a directory as open does, and makes missing ones: its parents for root, and the
// directory itself for own.
func ensure(base, rel string, own owner) (int, error) {
	if err := makeDirs(base); err != nil {
		return -1, err
	}
	parts := strings.Split(rel, "/")
	for i := range parts {
		fd, err := open(base, filepath.Join(parts[:i+1]...))
		if errors.Is(err, unix.ENOENT) {
			fd, err = create(base, parts[:i+1], own, i == len(parts)-1)
		}
		if err != nil || i == len(parts)-1 {
			return fd, err
		}
		unix.Close(fd)
	}
	return -1, unix.ENOENT
}

// create makes the last of some nested directories.
func create(base string, parts []string, own owner, leaf bool) (int, error) {
	above, err := open(base, filepath.Join(append([]string{"."}, parts[:len(parts)-1]...)...))
	if err != nil {
		return -1, err
	}
	defer unix.Close(above)
	mode, name := uint32(0o755), parts[len(parts)-1]
	if leaf {
		mode = private
	}
	path := filepath.Join(base, filepath.Join(parts...))
	made := unix.Mkdirat(above, name, mode)
	if made != nil && !errors.Is(made, unix.EEXIST) { // another process of the job may have made it
		return -1, fmt.Errorf("make %s: %w", path, made)
	}
	fd, err := unix.Openat(above, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	if leaf && made == nil {
		if err := giveNew(fd, own); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("make %s: %w", path, err)
		}
	}
	return fd, nil
}

// giveNew gives a private directory that was just made to its owner, who may own its parent, too, and
// have put another directory of root's in its place.
func giveNew(fd int, own owner) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	names, err := entries(fd)
	if err != nil {
		return err
	}
	if st.Uid != uint32(unix.Geteuid()) || st.Mode&0o777 != private || len(names) > 0 {
		return errors.New("it was replaced meanwhile")
	}
	return unix.Fchownat(fd, "", own.uid, own.gid, unix.AT_EMPTY_PATH)
}

// makeDirs makes a directory for root, with its parents.
func makeDirs(dir string) error {
	err := unix.Mkdir(dir, 0o755)
	if errors.Is(err, unix.ENOENT) {
		if err := makeDirs(filepath.Dir(dir)); err != nil {
			return err
		}
		err = unix.Mkdir(dir, 0o755)
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return nil
}

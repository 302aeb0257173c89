package jail

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// A job can get another owner. The directories that were made for the former one are then given to
// the present one. Their contents are not: the former owner may have put anything there.

// owner is the owner of a directory of a job.
type owner struct{ uid, gid int }

func ownerOf(fd int) (owner, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return owner{int(st.Uid), int(st.Gid)}, err
}

func (r *root) owner() owner { return owner{int(r.UID), int(r.GID)} }

// ensure opens the job's directory in a directory of root's. It makes it if it is missing, and takes
// it from a former owner of the job.
func (r *root) ensure(base string) (int, error) {
	fd, err := ensure(base, r.Job, r.owner())
	if err != nil {
		return -1, err
	}
	former, err := ownerOf(fd)
	if err == nil {
		err = r.take(fd, former)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%s/%s: %w", base, r.Job, err)
	}
	return fd, nil
}

// private is the mode of directories of jobs.
const private = 0o700

// take gives a directory of the former owner to the present one, and closes it to all others. A
// privileged process, which is root's beside others of the job's user, takes nothing. A directory of
// root's that is open to others was not made for a job.
func (r *root) take(fd int, former owner) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch {
	case r.Privileged, st.Uid == r.UID, int(st.Uid) != former.uid, st.Uid == 0 && st.Mode&0o777 != private:
		return nil
	}
	if err := unix.Fchownat(fd, "", int(r.UID), int(r.GID), unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	return unix.Chmod(link(fd), private)
}

// leave makes data/bpm the directory of a job with that name. Bpjail of former versions had its own
// directory there, as root's, with an empty directory in it. What runs does not need that.
func (r *root) leave(base string) error {
	dir := filepath.Join(base, "bpm")
	var st unix.Stat_t
	if r.Job != "bpm" || unix.Lstat(dir, &st) != nil || st.Mode != unix.S_IFDIR|0o755 || st.Uid != 0 {
		return nil
	}
	if err := unix.Rmdir(filepath.Join(dir, "root")); err != nil {
		names, failed := os.ReadDir(dir)
		if failed != nil || len(names) > 0 || !errors.Is(err, unix.ENOENT) {
			return failed // it is something else
		}
	}
	return unix.Chmod(dir, private)
}

// copyMark is the extended attribute (xattr(7)) of a directory that was made for copies of a job's
// files. Only root can set it.
const copyMark = "trusted.bproc"

// isCopy reports whether a directory was made for copies of a job's files.
func isCopy(dir string) bool {
	_, err := unix.Getxattr(dir, copyMark, nil)
	return err == nil
}

// takeFiles prepares the directory of the job's files for copies that its ordinary user makes: it and
// the directories in it that have the same owner are given to the user. A copy replaces files, whoever
// owns them.
func takeFiles(s *spec.Spec) error {
	dir := s.JobDir()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if st.Uid == s.UID {
		return nil
	}
	fd, err := open(filepath.Dir(dir), s.Job)
	if errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("%s is a link to a directory of user %d: give the directory to user %d", dir, st.Uid, s.UID)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if st.Uid == 0 && !isCopy(link(fd)) { // perhaps a job of the node's own
		return fmt.Errorf("%s is root's: remove it, or give it to user %d", dir, s.UID)
	}
	if err := giveTree(fd, st.Uid, owner{int(s.UID), int(s.GID)}, deepest); err != nil {
		return fmt.Errorf("give %s to user %d: %w", dir, s.UID, err)
	}
	return nil
}

// deepest is how deep directories are given to another owner. Each level needs a descriptor.
const deepest = 100

// giveTree gives a directory to another owner, after those in it down to a depth. It gives only
// directories of the former owner, and enters no others: there are no hard links to directories.
func giveTree(dir int, former uint32, to owner, depth int) error {
	names, err := entries(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		fd, err := unix.Openat2(dir, name, &unix.OpenHow{
			Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
		})
		switch {
		case err == nil:
		case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV), errors.Is(err, unix.ENOENT):
			continue // it is no directory, is another file system's, or has gone
		default:
			return fmt.Errorf("%s: %w", name, err)
		}
		own, err := ownerOf(fd)
		if err == nil && own.uid == int(former) && depth > 0 {
			err = giveTree(fd, former, to, depth-1)
		}
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return unix.Fchownat(dir, "", to.uid, to.gid, unix.AT_EMPTY_PATH)
}

// entries returns the names in a directory.
func entries(dir int) ([]string, error) {
	f, err := os.Open(link(dir))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

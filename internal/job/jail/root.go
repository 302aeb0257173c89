package jail

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// Attributes of mounts (mount_setattr(2)).
const (
	inert    = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	inertAll = inert | unix.MOUNT_ATTR_NOEXEC
	readOnly = unix.MOUNT_ATTR_RDONLY
)

// root builds the job's view of the file system in a directory that becomes its root.
type root struct {
	*spec.Spec
	dir string
	top int // descriptor of dir
}

// systemDirs are the directories of the node that every job sees.
var systemDirs = []string{"/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/sbin", "/usr"}

// build makes the root of the job, and changes to it.
//
//	/bin /etc /lib* /opt /sbin /usr       the node's, read-only
//	/proc /sys /dev                       system.go
//	/tmp /var/tmp ROOT/data/JOB/tmp       one directory, of the job
//	ROOT/jobs/JOB ROOT/packages           read-only
//	ROOT/sys/log/JOB                      of the job
//	ROOT/data/JOB ROOT/store/JOB, volumes if the job file asks for them
//
// It has nothing else, and the root itself is read-only.
func build(s *spec.Spec) error {
	r, err := newRoot(s)
	if err != nil {
		return err
	}
	defer unix.Close(r.top)
	for _, step := range []func() error{r.system, r.devices, r.kernel, r.files, r.data, r.volumes} {
		if err := step(); err != nil {
			return err
		}
	}
	return r.change()
}

// newRoot makes an empty root, in the job's mount namespace.
func newRoot(s *spec.Spec) (r *root, err error) {
	r = &root{Spec: s, dir: filepath.Join(s.Root, spec.OwnData, "root")}
	if err := makeDirs(r.dir); err != nil {
		return nil, err
	}
	if err := unix.Mount("job", r.dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return nil, fmt.Errorf("mount the root of the job: %w", err)
	}
	if r.top, err = unix.Open(r.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("root of the job: %w", err)
	}
	return r, nil
}

// change makes r the root. For a moment the node's root is mounted on top of it (pivot_root(2)).
func (r *root) change() error {
	if err := setattr(r.dir, false, readOnly); err != nil {
		return err
	}
	err := unix.Chdir(r.dir)
	if err == nil {
		err = unix.PivotRoot(".", ".")
	}
	if err == nil {
		err = unix.Unmount(".", unix.MNT_DETACH)
	}
	if err == nil {
		err = unix.Chdir("/")
	}
	if err != nil {
		return fmt.Errorf("change to the root of the job: %w", err)
	}
	return nil
}

// system mounts the node's programs and configuration.
func (r *root) system() error {
	dirs := systemDirs
	if target, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && strings.HasPrefix(target, "/run/") {
		dirs = append(dirs[:len(dirs):len(dirs)], resolver(target))
	}
	for _, dir := range dirs {
		link, err := os.Readlink(dir)
		switch {
		case err == nil:
			err = os.Symlink(link, r.at(dir))
		case errors.Is(err, unix.ENOENT):
			err = nil
		default:
			err = r.show(dir, readOnly|inert&^unix.MOUNT_ATTR_NOSUID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resolver returns what of /run a job needs if /etc/resolv.conf leads there: the directory, in which the file is
// replaced, but not /run itself, which has the sockets of all services.
func resolver(target string) string {
	if dir := filepath.Dir(target); dir != "/run" {
		return dir
	}
	return target
}

// files mounts the files of the job, and its directory for logs.
func (r *root) files() error {
	for _, dir := range []string{r.JobDir(), filepath.Join(r.Root, "packages"), filepath.Join(r.Root, spec.Packages)} {
		if _, err := os.Stat(dir); err != nil {
			continue // the node does not have it
		}
		if err := r.show(dir, readOnly|inert); err != nil {
			return err
		}
	}
	return r.own(filepath.Join(r.Root, "sys/log"), inertAll)
}

// data mounts the directories for data of the job.
func (r *root) data() error {
	base := filepath.Join(r.Root, "data")
	fd, err := r.temporary()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if r.Ephemeral {
		if err := r.own(base, inertAll); err != nil {
			return err
		}
	}
	for _, dir := range []string{filepath.Join(base, r.Job, "tmp"), "/tmp", "/var/tmp"} {
		if err := r.bind(fd, dir, inertAll); err != nil {
			return err
		}
	}
	if !r.Persistent {
		return nil
	}
	store, err := r.store()
	if err != nil {
		return err
	}
	return r.own(store, inertAll)
}

// temporary opens the job's directory for temporary files.
func (r *root) temporary() (int, error) {
	base := filepath.Join(r.Root, "data")
	if err := r.leave(base); err != nil {
		return -1, err
	}
	data, err := ensure(base, r.Job, r.owner())
	if err != nil {
		return -1, err
	}
	defer unix.Close(data)
	former, err := ownerOf(data)
	if err != nil {
		return -1, err
	}
	fd, err := ensure(base, r.Job+"/tmp", r.owner())
	if err != nil {
		return -1, err
	}
	if err = r.take(fd, former); err == nil {
		err = r.take(data, former)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%s/%s: %w", base, r.Job, err)
	}
	return fd, nil
}

// store returns the directory for persistent data of jobs.
func (r *root) store() (string, error) {
	store := filepath.Join(r.Root, "store")
	if _, err := os.Stat(store); err != nil {
		return "", fmt.Errorf("the job asks for a persistent disk, and the node has no %s", store)
	}
	return store, nil
}

// directories makes the directories to which the job writes, for its hook.
func (r *root) directories() error {
	fd, err := r.temporary()
	if err != nil {
		return err
	}
	unix.Close(fd)
	if fd, err = r.ensure(filepath.Join(r.Root, "sys/log")); err != nil {
		return err
	}
	unix.Close(fd)
	if !r.Persistent {
		return nil
	}
	store, err := r.store()
	if err == nil {
		fd, err = r.ensure(store)
	}
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// own mounts a directory that belongs to the job.
func (r *root) own(base string, attributes uint64) error {
	fd, err := r.ensure(base)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return r.bind(fd, filepath.Join(base, r.Job), attributes)
}

// volumes mounts the volumes.
func (r *root) volumes() error {
	for _, v := range r.Volumes {
		attributes := uint64(inertAll | readOnly)
		if v.Writable {
			attributes &^= readOnly
		}
		if v.Executable {
			attributes &^= unix.MOUNT_ATTR_NOEXEC
		}
		show := r.volume
		if v.Pattern {
			show = r.matching
		}
		if err := show(v, attributes); err != nil {
			return fmt.Errorf("volume %s: %w", v.Path, err)
		}
	}
	return nil
}

// volume mounts a volume from the directories for data of jobs.
func (r *root) volume(v spec.Volume, attributes uint64) error {
	for _, base := range []string{filepath.Join(r.Root, "data"), filepath.Join(r.Root, "store")} {
		rel, err := filepath.Rel(base, v.Path)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		var fd int
		switch {
		case r.Ordinary:
			fd, err = r.openAsUser(base, rel)
		case v.Make:
			fd, err = ensure(base, rel, r.owner())
		default:
			fd, err = open(base, rel)
		}
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return r.bind(fd, v.Path, attributes)
	}
	return fmt.Errorf("it is neither in %s/data nor in %s/store", r.Root, r.Root)
}

// matching mounts all paths that match a pattern, except the job's own directories.
func (r *root) matching(v spec.Volume, attributes uint64) error {
	paths, err := filepath.Glob(v.Path)
	if err != nil {
		return err
	}
	if len(paths) == 0 && v.Make && !strings.ContainsAny(v.Path, `*?[\`) {
		if err := makeDirs(v.Path); err != nil {
			return err
		}
		paths = []string{v.Path}
	}
	for _, path := range paths {
		if r.isOwn(path) {
			continue
		}
		if err := r.show(path, attributes); err != nil {
			return err
		}
	}
	return nil
}

// isOwn reports whether a path is in one of the job's own directories.
func (r *root) isOwn(path string) bool {
	return slices.ContainsFunc([]string{"jobs", "data", "store", "sys/log"}, func(dir string) bool {
		rel, err := filepath.Rel(filepath.Join(r.Root, dir, r.Job), path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// show mounts a file or directory of the node at the same path.
func (r *root) show(path string, attributes uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	return r.bind(fd, path, attributes)
}

// at returns the current path of a path of the job. It leads anywhere if the job's user can write
// to directories on it: see bind.go.
func (r *root) at(path string) string { return filepath.Join(r.dir, path) }

// setattr sets attributes of a mount and, if below is true, of the mounts below it.
func setattr(path string, below bool, attributes uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil {
		err = setattrOf(fd, below, attributes)
		unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("set attributes of the mount %s: %w", path, err)
	}
	return nil
}

// setattrOf is setattr for the mount of a descriptor.
func setattrOf(fd int, below bool, attributes uint64) error {
	flags := uint(unix.AT_EMPTY_PATH)
	if below {
		flags |= unix.AT_RECURSIVE
	}
	err := unix.MountSetattr(fd, "", flags, &unix.MountAttr{Attr_set: attributes})
	if errors.Is(err, unix.ENOSYS) { // Linux before 5.12
		err = remount(fd, below, attributes)
	}
	return err
}

package jail

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
	"bproc/internal/ownthread"
)

// TestBindFollowsNothing lets a user put symbolic links that lead out of the job's root where a
// mount is about to be made, as another process of the job could.
func TestBindFollowsNothing(t *testing.T) {
	base, outside := t.TempDir(), t.TempDir()
	data, other := filepath.Join(base, "data/web"), filepath.Join(base, "other")
	for _, dir := range []string{data, other, filepath.Join(outside, "there")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"absolute": outside, "relative": "../../../../../../../../../../.." + outside} {
		if err := os.Symlink(target, filepath.Join(data, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"absolute", "relative", "absolute/there", "relative/there", "absolute/new", "relative/new/below"} {
		if err := ownthread.Do(func() error {
			if err := isolate(); err != nil {
				return err
			}
			r, err := newRoot(&spec.Spec{Root: base})
			if err != nil {
				return err
			}
			if err := r.show(data, inertAll); err != nil {
				return err
			}
			fd, err := unix.Open(other, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_ = r.bind(fd, filepath.Join(data, path), inertAll) // fails for a dangling link
			for _, dir := range []string{outside, filepath.Join(outside, "there")} {
				var at unix.Statx_t
				if err := unix.Statx(unix.AT_FDCWD, dir, 0, 0, &at); err != nil {
					return err
				}
				if at.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
					t.Errorf("%s: the node's %s is mounted on", path, dir)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := os.ReadDir(outside); err != nil || len(made) != 1 {
		t.Errorf("outside there is %v, %v", made, err)
	}
}

// TestBindSeesChanges replaces a mount point by another directory before the attributes are set.
func TestBindSeesChanges(t *testing.T) {
	base := t.TempDir()
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	for _, dir := range []string{a, b} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := ownthread.Do(func() error {
		if err := isolate(); err != nil {
			return err
		}
		r, err := newRoot(&spec.Spec{Root: base})
		if err != nil {
			return err
		}
		if err := r.show(a, inertAll); err != nil {
			return err
		}
		for path, want := range map[string]error{a: nil, filepath.Dir(a): errChanged, filepath.Join(base, "c"): unix.ENOENT} {
			var st unix.Stat_t
			if err := unix.Stat(a, &st); err != nil {
				return err
			}
			if _, err := r.mounted(path, &st); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", path, err, want)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestFindFollowsNoLinkBelowData has a directory on the path be a link, as a user can make it at any moment: below the
// directories for what jobs keep it is not followed, and nothing is made behind it. The directories themselves may be links.
func TestFindFollowsNoLinkBelowData(t *testing.T) {
	base := t.TempDir()
	path := func(rel string) string { return filepath.Join(base, rel) }
	if err := ownthread.Do(func() error {
		if err := isolate(); err != nil {
			return err
		}
		r, err := newRoot(&spec.Spec{Root: base})
		if err != nil {
			return err
		}
		for _, dir := range []string{"disk/job", "others", "jobs"} {
			if err := os.MkdirAll(r.dir+path(dir), 0o755); err != nil {
				return err
			}
		}
		for link, to := range map[string]string{"data": "disk", "disk/job/a": path("others"), "jobs/a": path("others")} {
			if err := os.Symlink(to, r.dir+path(link)); err != nil {
				return err
			}
		}
		for _, test := range []struct {
			path string
			want error
		}{
			{"data/job/new", nil},
			{"jobs/a/new", nil},
			{"data/job/a", unix.ELOOP},
			{"data/job/a/b", unix.ELOOP},
		} {
			fd, err := r.point(path(test.path), true)
			if err == nil {
				unix.Close(fd)
			}
			if !errors.Is(err, test.want) {
				t.Errorf("%s: got %v, want %v", test.path, err, test.want)
			}
		}
		if _, err := os.Lstat(r.dir + path("others/new")); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(r.dir + path("others/b")); err == nil {
			t.Error("a directory was made behind the link")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

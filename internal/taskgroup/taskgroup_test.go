package taskgroup_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/taskgroup"
)

// group makes a control group below that of this process, and returns its path and directory.
func group(t *testing.T, tree *taskgroup.Tree, below, name string) (path, dir string) {
	t.Helper()
	path = filepath.Join(below, name)
	dir = filepath.Join(tree.Dir(), path)
	delegate(t, filepath.Dir(dir))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
			t.Error(err)
		}
	})
	return path, dir
}

// delegate enables task counting for the groups below dir, which version 2 does only on request.
func delegate(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "cgroup.subtree_control"), os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return // version 1
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("+pids"); err != nil {
		t.Fatal(err)
	}
}

func bound(t *testing.T, dir string, tasks int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "pids.max"), []byte(strconv.Itoa(tasks)), 0); err != nil {
		t.Fatal(err)
	}
}

func TestGroups(t *testing.T) {
	tree, err := taskgroup.Open()
	if err != nil {
		t.Fatal(err)
	}
	own, err := tree.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	above, err := tree.Bounds(own)
	if err != nil {
		t.Fatal(err)
	}
	outer, outerDir := group(t, tree, "/", "bproc-taskgroup-"+strconv.Itoa(os.Getpid()))
	middle, _ := group(t, tree, outer, "middle")
	inner, innerDir := group(t, tree, middle, "inner")
	bound(t, outerDir, 70)
	bound(t, innerDir, 60)

	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	if err := tree.Enter(sleeper.Process.Pid, inner); err != nil {
		t.Fatal(err)
	}
	if got, err := tree.Of(sleeper.Process.Pid); got != inner || err != nil {
		t.Errorf("it is in %q, %v, want %q", got, err, inner)
	}
	all, err := tree.Bounds(inner)
	if err != nil || len(all) != 2 {
		t.Fatalf("bounds: got %+v, %v", all, err)
	}
	for i, want := range []taskgroup.Group{{Path: inner, Max: 60, Now: 1}, {Path: outer, Max: 70, Now: 1}} {
		got := all[i]
		if got.ID == 0 {
			t.Errorf("%s has no number", got.Path)
		}
		if got.ID = 0; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if all[0].ID == all[1].ID {
		t.Error("two groups have one number")
	}
	if _, bounded, err := tree.Look(middle); bounded || err != nil {
		t.Errorf("a group without a bound: got %v, %v", bounded, err)
	}
	if all, err := tree.Bounds(filepath.Join(inner, "gone")); err != nil || len(all) != 2 {
		t.Errorf("a group that has gone: got %+v, %v", all, err)
	}

	// Enter makes the group, and changes nothing else about the process.
	made := filepath.Join(outer, "made")
	if err := tree.Enter(sleeper.Process.Pid, made); err != nil {
		t.Fatal(err)
	}
	defer unix.Rmdir(filepath.Join(tree.Dir(), made)) // otherwise the outer one cannot be removed
	if got, err := tree.Of(sleeper.Process.Pid); got != made || err != nil {
		t.Errorf("it is in %q, %v, want %q", got, err, made)
	}
	if err := tree.Enter(sleeper.Process.Pid, own); err != nil {
		t.Fatal(err)
	}
	if again, err := tree.Bounds(own); err != nil || len(again) != len(above) {
		t.Errorf("bounds of this process: got %+v, %v, before %+v", again, err, above)
	}
	if _, err := tree.Of(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no process: got %v", err)
	}
}

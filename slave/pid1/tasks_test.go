package pid1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// hierarchy returns the mount point of one of the cgroup hierarchies.
func hierarchy(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{".", "unified", "freezer"} {
		if dir = filepath.Join("/sys/fs/cgroup", dir); unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil {
			return dir
		}
	}
	t.Fatal("no cgroups are mounted at /sys/fs/cgroup")
	return ""
}

// newCgroup makes a cgroup and opens its cgroup.procs file.
func newCgroup(t *testing.T, name string) *os.File {
	t.Helper()
	dir := filepath.Join(hierarchy(t), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	f, err := os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// launchIn starts a process in a cgroup.
func (s *space) launchIn(cgroup *os.File, sp *wire.Spawn) {
	s.tb.Helper()
	s.send(&wire.InitLaunch{Spawn: *sp, Tasks: true}, int(cgroup.Fd()))
	if m := s.answered(sp.PID); m.Stage != 0 {
		s.tb.Fatalf("launch of %d: stage %d, %v", sp.PID, m.Stage, unix.Errno(m.Errno))
	}
}

// cgroups returns the cgroups of a process as /proc shows them.
func (s *space) cgroups(pid wire.PID) string {
	s.tb.Helper()
	text, err := os.ReadFile(filepath.Join(s.proc, pid.String(), "cgroup"))
	if err != nil {
		s.tb.Fatal(err)
	}
	return string(text)
}

func TestProcessBeginsInItsCgroup(t *testing.T) {
	one := newCgroup(t, "bproc-pid1-one")
	two := newCgroup(t, "bproc-pid1-two")
	s := newSpace(t)
	for _, c := range []struct {
		sp     *wire.Spawn
		cgroup *os.File
		want   string
		kin    kinship
	}{
		{command(70001, 60001, 60000, "sleep", "1000"), one, "/bproc-pid1-one", kinship{1, 60001, 60000}},
		{command(70002, 60001, 60000, "sleep", "1000"), two, "/bproc-pid1-two", kinship{1, 60001, 60000}},
		{command(70003, 60002, 60000, "sleep", "1000"), one, "/bproc-pid1-one", kinship{1, 60002, 60000}},
		{command(70004, 0, 0, "sleep", "1000"), one, "/bproc-pid1-one", kinship{1, 70004, 1}},
		{command(70005, 70005, 70005, "sleep", "1000"), two, "/bproc-pid1-two", kinship{1, 70005, 70005}},
	} {
		s.launchIn(c.cgroup, c.sp)
		if got := s.cgroups(c.sp.PID); !strings.Contains(got, c.want+"\n") {
			t.Errorf("%d: in cgroups\n%swant %s", c.sp.PID, got, c.want)
		}
		if got := s.kinship(c.sp.PID); got != c.kin {
			t.Errorf("%d: got %v, want %v", c.sp.PID, got, c.kin)
		}
	}
	s.launch(command(70006, 60001, 60000, "sleep", "1000"))
	for what, pid := range map[string]wire.PID{"process without a cgroup": 70006, "anchor": 60001} {
		if got, want := s.cgroups(pid), s.cgroups(1); got != want {
			t.Errorf("%s: in\n%swant init's\n%s", what, got, want)
		}
	}
}

func TestFileThatIsNoCgroup(t *testing.T) {
	s := newSpace(t)
	null, err := os.Open(os.DevNull) // not for writing
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s.send(&wire.InitLaunch{Spawn: *command(70001, 60001, 60000, "true"), Tasks: true}, int(null.Fd()))
	if m := s.answered(70001); m.Stage != wire.StageSpawn || unix.Errno(m.Errno) != unix.EBADF {
		t.Errorf("stage %d, %v, want EBADF", m.Stage, unix.Errno(m.Errno))
	}
	s.send(&wire.InitLaunch{Spawn: *command(70002, 60001, 60000, "true"), Tasks: true})
	if m := s.answered(70002); m.Stage != wire.StageRequest {
		t.Errorf("without the descriptor: stage %d, %v", m.Stage, unix.Errno(m.Errno))
	}
}

package probe_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bproc/internal/probe"
)

// files makes a root directory with the given files.
func files(t *testing.T, texts map[string]string) probe.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return probe.Root(dir)
}

func says(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Lines of /proc/self/mountinfo.
const (
	unified = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	hybrid  = "35 24 0:30 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n"
	pids    = "36 24 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	freezer = "37 24 0:32 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
	hidden  = "39 24 0:34 / /hidden/unified rw - cgroup2 cgroup2 rw\n40 24 0:35 / /hidden/pids rw - cgroup cgroup rw,pids\n"
	cpu     = "38 24 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
)

func TestControllers(t *testing.T) {
	const (
		v2 = "sys/fs/cgroup/cgroup.controllers"
		h2 = "sys/fs/cgroup/unified/cgroup.controllers"
	)
	for _, test := range []struct {
		name          string
		files         map[string]string
		layout        string
		freezer, pids string // words of the error
	}{
		{"version 2", map[string]string{"proc/self/mountinfo": unified, v2: "cpu pids\n"}, "version 2", "", ""},
		{"version 2 without pids", map[string]string{"proc/self/mountinfo": unified, v2: "cpu\n"}, "version 2", "", "no controller pids"},
		{"version 1", map[string]string{"proc/self/mountinfo": pids + freezer + cpu}, "version 1", "", ""},
		{"version 1 without pids", map[string]string{"proc/self/mountinfo": freezer + cpu}, "version 1", "", "controller pids is not mounted"},
		{"hybrid", map[string]string{"proc/self/mountinfo": hybrid + pids + freezer, h2: ""}, "hybrid", "", ""},
		{"hybrid without freezer", map[string]string{"proc/self/mountinfo": hybrid + pids, h2: ""}, "hybrid", "controller freezer is not mounted", ""},
		{"version 2 elsewhere", map[string]string{"proc/self/mountinfo": hybrid, h2: "pids\n"}, "none", "no control groups are mounted", "no control groups are mounted"},
		{"nothing", map[string]string{"proc/self/mountinfo": ""}, "none", "no control groups are mounted", "no control groups are mounted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			// Each group has this file. A mount without it is hidden by another mount.
			for line := range strings.Lines(test.files["proc/self/mountinfo"]) {
				test.files[strings.Fields(line)[4]+"/cgroup.procs"] = ""
			}
			test.files["proc/self/mountinfo"] += hidden
			root := files(t, test.files)
			c, err := root.Cgroups()
			if err != nil {
				t.Fatal(err)
			}
			if c.Layout() != test.layout {
				t.Errorf("layout is %s, want %s", c.Layout(), test.layout)
			}
			for _, p := range []struct {
				name string
				err  error
				want string
			}{{"freezer", root.Freezer(), test.freezer}, {"pids", root.Pids(), test.pids}} {
				if got := says(p.err); (got == "") != (p.want == "") || !strings.Contains(got, p.want) {
					t.Errorf("%s: got %q, want %q", p.name, got, p.want)
				}
			}
		})
	}
}

func TestKernelFiles(t *testing.T) {
	good := files(t, map[string]string{"proc/self/ns/pid": "", "proc/sys/kernel/ns_last_pid": "1"})
	bad := files(t, nil)
	if err := good.PIDNamespaces(); err != nil {
		t.Error(err)
	}
	if err := good.Cursor(); err != nil {
		t.Error(err)
	}
	if got := says(bad.PIDNamespaces()); !strings.Contains(got, "CONFIG_PID_NS") {
		t.Errorf("got %q", got)
	}
	if got := says(bad.Cursor()); !strings.Contains(got, "CONFIG_CHECKPOINT_RESTORE") {
		t.Errorf("got %q", got)
	}
}

func TestCalls(t *testing.T) {
	if err := errors.Join(probe.SetTID(), probe.CloseRange()); err != nil {
		t.Error(err)
	}
}

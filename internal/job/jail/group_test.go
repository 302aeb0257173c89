package jail

import (
	"os"
	"path/filepath"
	"testing"

	"bproc/internal/job/spec"
)

func TestGroupName(t *testing.T) {
	seen := make(map[string]string)
	for _, root := range []string{spec.DefaultRoot, "/srv/a", "/srv/b"} {
		name := groupName(&spec.Spec{Root: root, Job: "web", Process: "server"})
		if other, is := seen[name]; is || root == spec.DefaultRoot && name != "job-web:server" {
			t.Errorf("below %s: %s, as below %q", root, name, other)
		}
		seen[name] = root
	}
}

// TestGroupOfAnother has groups of version 1. A group was made by a bpjail in the same group or in
// another one.
func TestGroupOfAnother(t *testing.T) {
	const name = "job-web:server"
	for _, own := range []string{"", "/user-0", "/user-0/group-77"} {
		for _, others := range []string{"none", "", "/user-0", "/user-0/group-88", "/user-7/group-77"} {
			mount := t.TempDir()
			pids := filepath.Join(mount, "pids/b/n2/space")
			want := filepath.Join(pids, own, name)
			if others != "none" {
				want = filepath.Join(pids, others, name)
				if err := os.MkdirAll(want, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			g, err := groupBelow(mount, "5:memory:/b/n2\n4:pids:/b/n2/space"+own+"\n0::/\n", name)
			if err != nil {
				t.Fatal(err)
			}
			if g.tasks != want || g.next != filepath.Join(pids, own, name) || g.memory != filepath.Join(mount, "memory/b/n2", name) {
				t.Errorf("own group %q, made in %q: got %+v", own, others, g)
			}
		}
	}
}

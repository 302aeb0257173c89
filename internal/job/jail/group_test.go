package jail

import (
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

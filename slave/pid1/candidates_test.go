package pid1

import (
	"slices"
	"testing"
)

func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		command string
		env     []string
		want    []string
	}{
		{"", []string{"PATH=/bin"}, nil},
		{"ls", []string{"PATH=/usr/bin:/bin"}, []string{"/usr/bin/ls", "/bin/ls"}},
		{"ls", []string{"PATH=/a", "PATH=/b"}, []string{"/a/ls"}},
		{"ls", []string{"XPATH=/a"}, []string{"/bin/ls", "/usr/bin/ls"}},
		{"ls", []string{"PATH="}, []string{"ls"}},
		{"ls", []string{"PATH=:/bin:"}, []string{"ls", "/bin/ls", "ls"}},
		{"./ls", []string{"PATH=/bin"}, []string{"./ls"}},
		{"/bin/ls", nil, []string{"/bin/ls"}},
	} {
		if got := candidates(c.command, c.env); !slices.Equal(got, c.want) {
			t.Errorf("candidates(%q, %q): got %q, want %q", c.command, c.env, got, c.want)
		}
	}
}

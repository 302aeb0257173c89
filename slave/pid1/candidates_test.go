package pid1

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCandidates(t *testing.T) {
	long := strings.Repeat("x", unix.NAME_MAX+1)
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
		{long, []string{"PATH=/bin"}, []string{long}},
	} {
		if got, errno := candidates(c.command, c.env); !slices.Equal(got, c.want) || errno != 0 {
			t.Errorf("candidates(%q, %q): got %q, %v, want %q", c.command, c.env, got, errno, c.want)
		}
	}
}

// TestCandidatesAreBounded has a user request a command with a long name, or one of the greatest
// possible length, in very many directories.
func TestCandidatesAreBounded(t *testing.T) {
	for _, command := range []string{strings.Repeat("x", 10_000), strings.Repeat("x", unix.NAME_MAX), "x"} {
		for _, path := range []string{strings.Repeat("a:", 60_000), strings.Repeat(":", 1<<20)} {
			files, errno := candidates(command, []string{"PATH=" + path})
			size := 0
			for _, f := range files {
				size += len(f)
			}
			if size > maxCandidates || len(files) == 0 && errno != unix.E2BIG {
				t.Errorf("%d bytes of command and %d of PATH: %d files with %d bytes, %v", len(command), len(path), len(files), size, errno)
			}
		}
	}
}

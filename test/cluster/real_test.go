package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestRealPrograms runs programs that make many processes natively and on a node: their output must
// be the same.
func TestRealPrograms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		user cluster.User
		// prepare fills a directory, the program's working directory, and returns the command.
		prepare func(t *testing.T, dir string) []string
		code    int
	}{
		{"make", cluster.Alice, makeProject, 0},
		{"git", cluster.Alice, gitRepository, 0},
		{"job control", cluster.Alice, jobScript, 9},
		{"go build", cluster.Root, goModule, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			bothPlaces(t, c, func(t *testing.T, at place) []string {
				dir := scratch(t)
				argv := tc.prepare(t, dir)
				give(t, dir, tc.user)
				res, err := c.Front.Exec(t.Context(), tc.user, slices.Concat(at.argv, []string{"env", "-C", dir}, argv)...)
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(strings.ReplaceAll(res.Stdout+res.Stderr, dir, "DIR"), "\n")
				if res.Code != tc.code {
					t.Errorf("exit code %d, want %d:\n%s", res.Code, tc.code, strings.Join(lines, "\n"))
				}
				return lines
			})
		})
	}
}

// give makes a user the owner of a directory and everything in it.
func give(t *testing.T, dir string, user cluster.User) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, int(user.UID), int(user.GID)))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// jobScript is job control in a script. bash's own messages about jobs come at any time, so they
// are dropped.
func jobScript(t *testing.T, _ string) []string {
	return []string{"sh", "-c", `exec bash "$1" 2>/dev/null`, "sh", readable(t, "testdata/conform/jobs.sh")}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// makeProject is a C program of 20 files. The output of make -j4 has no fixed order.
func makeProject(t *testing.T, dir string) []string {
	calls, names := "", ""
	for i := range 20 {
		write(t, dir, fmt.Sprintf("part%d.c", i), fmt.Sprintf("int part%d(void) { return %d; }\n", i, i))
		calls += fmt.Sprintf("extern int part%d(void); sum += part%d(); ", i, i)
		names += fmt.Sprintf("part%d.o ", i)
	}
	write(t, dir, "main.c", "#include <stdio.h>\nint main(void) { int sum = 0; "+calls+"printf(\"%d\\n\", sum); return 0; }\n")
	write(t, dir, "Makefile", "sum: main.o "+names+"\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -O1 -c -o $@ $<\n")
	return []string{"sh", "-c", "make -j4 | sort && ./sum && make -q && touch part3.c && make -j4"}
}

// gitRepository has 200 commits, as loose objects.
func gitRepository(t *testing.T, dir string) []string {
	var stream strings.Builder
	for i := range 200 {
		text := fmt.Sprintf("version %d\n%s", i, strings.Repeat("line\n", i))
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 1\nx\nM 644 inline file%d\ndata %d\n%s\n",
			1700000000+i, i%10, len(text), text)
	}
	write(t, dir, "stream", stream.String())
	return []string{"sh", "-c", `git init -q -b main . && git config fastimport.unpackLimit 100000 && git fast-import --quiet <stream &&
		git count-objects -v | grep -v size && git gc -q && git count-objects -v | grep -v size && git fsck && git log --format=%H | tail -1`}
}

// goModule has ten packages that are in no cache.
func goModule(t *testing.T, dir string) []string {
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	imports, calls := "", ""
	for i := range 10 {
		write(t, dir, fmt.Sprintf("p%d/p.go", i), fmt.Sprintf("package p%d\n\n// In %s.\nfunc F() int { return %d }\n", i, dir, i))
		imports += fmt.Sprintf("\t\"m/p%d\"\n", i)
		calls += fmt.Sprintf(" + p%d.F()", i)
	}
	write(t, dir, "main.go", "package main\n\nimport (\n\t\"fmt\"\n"+imports+")\n\nfunc main() { fmt.Println(0"+calls+") }\n")
	write(t, dir, "go.mod", "module m\n\ngo 1.21\n")
	return []string{
		"env", "GOCACHE=" + strings.TrimSpace(string(cache)), "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=-mod=mod", "CGO_ENABLED=0",
		"PATH=" + goPath(t) + ":/usr/bin:/bin", "sh", "-c", "go build -o program . && ./program && go vet ./...",
	}
}

// goPath returns the directory of the go command.
func goPath(t *testing.T) string {
	path, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

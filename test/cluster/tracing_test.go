package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// scratch makes a directory in which every user can write, on a file system that all machines see.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(conform(t, "target")), "scratch")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

// endLine matches strace's report of the end of a process.
var endLine = regexp.MustCompile(`\+\+\+ .* \+\+\+`)

// TestStrace runs programs of the conformance suite under strace: their output is the same as
// without it, and strace sees all processes end.
func TestStrace(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	dir := scratch(t)
	for name, args := range map[string][]string{
		"births":  {"fork", "vfork", "clone", "clone3", "pthread_create", "mixture"},
		"kin":     {"setpgid", "setsid", "orphan"},
		"signals": {"child", "errors"},
	} {
		t.Run(name, func(t *testing.T) {
			bothPlaces(t, c, func(t *testing.T, at place) []string {
				log := filepath.Join(dir, name+at.name)
				argv := slices.Concat([]string{"strace", "-f", "-qq", "-o", log, conform(t, name)}, args)
				lines := converse(t, c, cluster.Alice, at, argv...).rest()
				text, err := os.ReadFile(log)
				if err != nil {
					t.Fatal(err)
				}
				ends := endLine.FindAllString(string(text), -1)
				slices.Sort(ends)
				return append(lines, ends...)
			})
		})
	}
}

// digits matches the numbers that differ between runs under gdb.
var digits = regexp.MustCompile(`\b(0x[0-9a-f]+|[0-9]{2,})\b`)

// TestGdb has gdb start a program, follow its fork, and attach to a process.
func TestGdb(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	program := cluster.Program(t, "testdata/conform/traced.c", "-g")
	gdb := []string{"gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set confirm off"}
	transcript := func(t *testing.T, at place, args ...string) []string {
		t.Helper()
		lines := converse(t, c, cluster.Alice, at, append(gdb, args...)...).rest()
		var shown []string
		for _, line := range lines {
			if !strings.Contains(line, "warning:") && !strings.Contains(line, "standard error") {
				shown = append(shown, digits.ReplaceAllString(line, "N"))
			}
		}
		return shown
	}
	t.Run("run", func(t *testing.T) {
		bothPlaces(t, c, func(t *testing.T, at place) []string {
			lines := transcript(t, at, "-ex", "set detach-on-fork off", "-ex", "set follow-fork-mode child", "-ex", "break here",
				"-ex", "run", "-ex", "print number", "-ex", "set var number = 1000", "-ex", "continue", "-ex", "print who",
				"-ex", "continue", "-ex", "inferior 1", "-ex", "delete", "-ex", "continue", program)
			if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "Breakpoint 1, here") }) {
				t.Errorf("no breakpoint was hit:\n%s", strings.Join(lines, "\n"))
			}
			return lines
		})
	})
	t.Run("attach", func(t *testing.T) {
		bothPlaces(t, c, func(t *testing.T, at place) []string {
			traced := converse(t, c, cluster.Alice, at, program, "wait")
			ready, _ := traced.line()
			match := readyLine.FindStringSubmatch(ready)
			if match == nil {
				t.Fatalf("got %q, want ready", ready)
			}
			lines := transcript(t, at, "-p", match[1], "-ex", "print number", "-ex", "set var number = 23", "-ex", "detach")
			lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "0x") || strings.Contains(line, " in ") })
			if !slices.Contains(lines, fmt.Sprintf("$1 = %s", "N")) {
				t.Errorf("nothing was printed:\n%s", strings.Join(lines, "\n"))
			}
			traced.stdin.Close()
			return append(lines, traced.rest()...)
		})
	})
}

package space_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"bproc/slave/space"
	"bproc/test/limit"
)

// The program under test, a program that becomes it late, and a program for the inside of a space.
var bpinit, lateinit, probe string

func TestMain(m *testing.M) {
	space.Reexec()
	if len(os.Args) > 1 && os.Args[1] == otherDaemon {
		os.Exit(beOtherDaemon(os.Args[2:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bpspace")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // users run the probe
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bpinit, lateinit, probe = filepath.Join(dir, "bpinit"), filepath.Join(dir, "lateinit"), filepath.Join(dir, "probe")
	for out, pkg := range map[string]string{bpinit: "bproc/cmd/bpinit", lateinit: "./testdata/lateinit", probe: "./testdata/probe"} {
		cmd := exec.Command("go", "build", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", pkg, err, text)
			return 1
		}
	}
	return limit.Tests(m)
}

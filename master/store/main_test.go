package store_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"bproc/test/limit"
)

// Variables that tell a copy of this program what to do instead of tests.
const (
	roleVar = "BPROC_STORE_TEST"
	dirVar  = "BPROC_STORE_DIR"
	seedVar = "BPROC_STORE_SEED"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVar) {
	case "writer":
		err = writeForEver(os.Getenv(dirVar), os.Getenv(seedVar))
	case "full":
		err = fillDisk(os.Getenv(dirVar))
	default:
		os.Exit(limit.Tests(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// role returns a command that runs a copy of this program.
func role(t testing.TB, name, dir string, more ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVar+"="+name, dirVar+"="+dir), more...)
	cmd.Stderr = os.Stderr
	return cmd
}

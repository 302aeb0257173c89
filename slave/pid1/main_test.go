package pid1_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"bproc/test/limit"
)

// bpinit is the program under test.
var bpinit string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bpinit")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bpinit = filepath.Join(dir, "bpinit")
	cmd := exec.Command("go", "build", "-o", bpinit, "bproc/cmd/bpinit")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build bpinit: %v\n%s", err, text)
		return 1
	}
	return limit.Tests(m)
}

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bproc/internal/manpage"
)

func TestManPage(t *testing.T) {
	manpage.CheckOptions(t, "../../man/bpns.1", usage)
}

// TestExitCode has commands that cannot be executed, by name and by path: codes are those of env(1).
func TestExitCode(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("#!/no/such/interpreter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700); err != nil { //nolint:gosec // it is to be executed
		t.Fatal(err)
	}
	for name, want := range map[string]int{
		"no-such": exitNotFound, filepath.Join(dir, "no-such"): exitNotFound,
		plain: exitNoExec, dir: exitNoExec, plain + "/x": exitNoExec,
		script: exitNotFound, "script": exitNotFound,
	} {
		if err := execute([]string{name}); exitCode(err) != want {
			t.Errorf("%s: got %v, exit code %d, want %d", name, err, exitCode(err), want)
		}
	}
	if got := exitCode(errors.New("no view")); got != exitOwn {
		t.Errorf("without a view: got exit code %d", got)
	}
}

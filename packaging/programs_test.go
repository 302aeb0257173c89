package packaging_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// made are programs that a package makes during its installation.
var made = map[string]bool{"lib/bproc/ghost": true}

// TestEveryProgramIsInAPackage checks that every built program is in a package: other programs
// execute it.
func TestEveryProgramIsInAPackage(t *testing.T) {
	var contents strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		contents.Write(text)
	}
	for _, dir := range []string{"bin", "sbin", "lib/bproc"} {
		programs, err := os.ReadDir(filepath.Join(os.Getenv("BPROC_TREE"), dir))
		if err != nil {
			t.Fatalf("%v; run this by make test", err)
		}
		for _, p := range programs {
			if path := dir + "/" + p.Name(); !made[path] && !strings.Contains(contents.String(), "dst: /usr/"+path+"}") {
				t.Errorf("%s is in no package", path)
			}
		}
	}
}

// TestFullOutput lets programs print their help to a full device: they must report the error and
// fail.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{
		{"bin/bpcp", "--help"},
		{"bin/bpcp", "--version"},
		{"bin/bpctl", "--help"},
		{"bin/bpctl", "--version"},
		{"bin/bpctl", "drain", "--help"},
		{"bin/bpctl", "check", "--help"},
		{"bin/bpctl", "check", "--front-end"},
		{"bin/bpctl", "check", "--front-end", "--json"},
		{"bin/bpjob", "--help"},
		{"bin/bpjob", "--version"},
		{"bin/bpjob", "start", "--help"},
		{"bin/bpns", "--help"},
		{"bin/bprsh", "--help"},
		{"bin/bprsh", "--version"},
		{"bin/bpsh", "--help"},
		{"bin/bpsh", "--version"},
		{"bin/bpstat", "--help"},
		{"bin/bpstat", "--version"},
		{"sbin/bpmaster", "--help"},
		{"sbin/bpprocfs", "--help"},
		{"sbin/bpslave", "--help"},
		{"lib/bproc/bpkeeper", "--help"},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("BPROC_TREE"), args[0]), args[1:]...)
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = full, &stderr
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || !strings.HasSuffix(stderr.String(), "no space left on device\n") {
			t.Errorf("%q: got %v, %q", args, err, &stderr)
		}
	}
}

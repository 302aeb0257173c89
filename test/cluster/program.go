package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programs are the C programs that were compiled.
var programs struct {
	mu    sync.Mutex
	built map[string]string // source: program
}

// Program is Compile for a test.
func Program(t testing.TB, source string) string {
	t.Helper()
	path, err := Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Compile compiles a C source file, once, and returns the program's path, which
// is the same on every machine.
func Compile(source string) (string, error) {
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if path := programs.built[source]; path != "" {
		return path, nil
	}
	s, err := theSite()
	if err != nil {
		return "", err
	}
	name := filepath.Base(source)
	path := filepath.Join(s.dir, "bin", name[:len(name)-len(filepath.Ext(name))])
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if out, err := exec.Command("gcc", "-O2", "-Wall", "-Werror", "-o", path, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile %s: %w: %s", source, err, out)
	}
	if programs.built == nil {
		programs.built = map[string]string{}
	}
	programs.built[source] = path
	return path, nil
}

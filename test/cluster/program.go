package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// programs are the compiled programs.
var programs struct {
	mu    sync.Mutex
	built map[string]string // program by source
}

// Program is Compile for a test.
func Program(t testing.TB, source string, flags ...string) string {
	t.Helper()
	path, err := Compile(source, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Compile compiles a C source file, or a Go source file without cgo, once, and returns the
// program's path, which is the same on every machine. Flags for the C compiler are added to the
// common ones; a source must have the same ones each time.
func Compile(source string, flags ...string) (string, error) {
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
	extension := filepath.Ext(name)
	path := filepath.Join(s.dir, "bin", strings.TrimSuffix(name, extension))
	argv := slices.Concat([]string{"gcc", "-O2", "-Wall", "-Werror", "-pthread", "-o", path, source}, flags)
	if extension == ".go" {
		path += "-go"
		argv = []string{"go", "build", "-o", path, source}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if _, err := hostOutput([]string{"CGO_ENABLED=0"}, argv[0], argv[1:]...); err != nil {
		return "", fmt.Errorf("compile %s: %w", source, err)
	}
	if programs.built == nil {
		programs.built = map[string]string{}
	}
	programs.built[source] = path
	return path, nil
}

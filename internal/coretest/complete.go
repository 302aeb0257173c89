package coretest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"bproc/internal/recording"
)

var input = regexp.MustCompile(`(?m)^func \((?:\w+ )?(\w+)\) apply\(`)

// Complete checks that a machine knows all input types of the package in the test's directory: the
// types with a method apply.
func Complete(t *testing.T, m recording.Machine) {
	t.Helper()
	types, found := m.Types(), 0
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := file.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range input.FindAllStringSubmatch(string(source), -1) {
			if found++; types[match[1]] == nil {
				t.Errorf("%s is not in Recorded.Types", match[1])
			}
		}
	}
	if found != len(types)-1 {
		t.Errorf("%d types of input, and Recorded.Types has %d", found, len(types)-1)
	}
}

package packaging_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made are programs that a package makes when it is installed.
var made = map[string]bool{"lib/bproc/ghost": true}

// TestEveryProgramIsInAPackage: what is built and in no package is missed where one program
// executes another.
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

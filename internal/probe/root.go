package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Root is the directory that contains /proc and /sys for a probe: [Machine], or a directory of a
// test.
type Root string

// Machine is the root directory of this machine.
const Machine Root = "/"

// Path returns the path of an absolute path of the machine.
func (r Root) Path(path string) string { return filepath.Join(string(r), path) }

// Text returns the contents of a file without surrounding white space.
func (r Root) Text(path string) (string, error) {
	b, err := os.ReadFile(r.Path(path))
	return strings.TrimSpace(string(b)), err
}

// exists returns an error with a feature and its kernel option if a file is missing.
func (r Root) exists(path, what, option string) error {
	if _, err := os.Lstat(r.Path(path)); err != nil {
		return fmt.Errorf("%s (%s): %w", what, option, err)
	}
	return nil
}

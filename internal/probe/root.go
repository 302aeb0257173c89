package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Root is the directory in which a probe finds /proc and /sys: [Machine], or that of a test.
type Root string

// Machine is the root directory of this machine.
const Machine Root = "/"

// Path returns where an absolute path of the machine is.
func (r Root) Path(path string) string { return filepath.Join(string(r), path) }

// Text returns the text of a file without the white space around it.
func (r Root) Text(path string) (string, error) {
	b, err := os.ReadFile(r.Path(path))
	return strings.TrimSpace(string(b)), err
}

// exists returns an error that names a feature and its kernel option if a file is missing.
func (r Root) exists(path, what, option string) error {
	if _, err := os.Lstat(r.Path(path)); err != nil {
		return fmt.Errorf("%s (%s): %w", what, option, err)
	}
	return nil
}

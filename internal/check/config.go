package check

import (
	"compress/gzip"
	"io"
	"os"
)

// config returns the configuration with which the kernel was built.
func (s *subject) config(release string) (string, error) {
	if f, err := os.Open(s.Root.Path("/proc/config.gz")); err == nil {
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(z)
		return string(text), err
	}
	return s.Root.Text("/boot/config-" + release)
}

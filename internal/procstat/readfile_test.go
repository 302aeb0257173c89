package procstat_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 100_000} {
		path := filepath.Join(dir, "file")
		content := bytes.Repeat([]byte("x"), size)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, most := range []int{procstat.Whole, 5000} {
			got, err := procstat.ReadFile(path, most)
			if want := content[:min(size, most)]; err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, at most %d: got %d, %v", size, most, len(got), err)
			}
		}
	}
	if _, err := procstat.ReadFile(filepath.Join(dir, "nowhere"), procstat.Whole); !errors.Is(err, unix.ENOENT) {
		t.Errorf("got %v, want %v", err, unix.ENOENT)
	}
	if _, err := procstat.ReadFile(dir, procstat.Whole); !errors.Is(err, unix.EISDIR) {
		t.Errorf("got %v, want %v", err, unix.EISDIR)
	}
}

// TestReadFileOfProc reads a file that the kernel generates.
func TestReadFileOfProc(t *testing.T) {
	got, err := procstat.ReadFile("/proc/self/status", procstat.Whole)
	if err != nil || !bytes.HasPrefix(got, []byte("Name:\t")) || !bytes.HasSuffix(got, []byte("\n")) {
		t.Errorf("got %q, %v", got, err)
	}
}

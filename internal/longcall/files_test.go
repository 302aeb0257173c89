package longcall_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
)

func TestOpenat(t *testing.T) {
	at := t.TempDir()
	if err := os.WriteFile(filepath.Join(at, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := longcall.Openat(unix.AT_FDCWD, at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	file, err := longcall.Openat(dir, "file", unix.O_RDONLY|unix.O_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(file)
	for _, path := range []string{"nowhere", "a\x00b"} {
		if fd, err := longcall.Openat(dir, path, unix.O_RDONLY); err == nil {
			t.Errorf("%q: got descriptor %d", path, fd)
		}
	}
}

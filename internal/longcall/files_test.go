package longcall_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
)

func TestFiles(t *testing.T) {
	at := t.TempDir()
	if err := os.WriteFile(filepath.Join(at, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := longcall.Openat(unix.AT_FDCWD, at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	buf := make([]byte, 4096)
	n, err := longcall.Getdents(dir, buf)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, names := unix.ParseDirent(buf[:n], -1, nil); len(names) != 1 || names[0] != "file" {
		t.Errorf("got %q", names)
	}
	if !longcall.Exists(dir, "file") || longcall.Exists(dir, "nowhere") {
		t.Error("there is file, and no nowhere")
	}
	for _, path := range []string{"nowhere", "a\x00b"} {
		if fd, err := longcall.Openat(dir, path, unix.O_RDONLY); err == nil {
			t.Errorf("%q: got descriptor %d", path, fd)
		}
	}
	if _, err := longcall.Getdents(-1, buf); !errors.Is(err, unix.EBADF) {
		t.Errorf("got %v, want %v", err, unix.EBADF)
	}
}

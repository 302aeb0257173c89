package slave

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOverwriteWithoutRoom: where there is no room for the new lines, all of the old ones stay.
func TestOverwriteWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "hosts")
	lines := func(n int) []byte { return []byte(strings.Repeat("10.1.1.2 n2\n", n)) }
	check := func(when string, want []byte) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the file has %d bytes, %v, want %d", when, len(got), err, len(want))
		}
	}
	for _, n := range []int{100, 0, 1000, 10} {
		if err := overwrite(path, lines(n)); err != nil {
			t.Fatal(err)
		}
		check("with room", lines(n))
	}
	if err := overwrite(path, lines(10_000)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v, want %v", err, unix.ENOSPC)
	}
	check("without room", lines(10))
	if err := overwrite(path, lines(20)); err != nil {
		t.Error(err)
	}
	check("afterwards", lines(20))
}

package target

import (
	"crypto/rand"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// temporary records whether unnamed files are not supported.
type temporary struct{ none bool }

// unnamed returns an unnamed file on the file system of a directory, if possible. Naming it needs
// /proc.
func (t *temporary) unnamed(dir int, mode uint32, proc bool) (int, bool) {
	if t.none || !proc {
		return -1, false
	}
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	})
	// An error that is not about O_TMPFILE occurs with a temporary name, too.
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		t.none = true
	}
	return fd, err == nil
}

// linkUnnamed gives an unnamed file a name.
func linkUnnamed(fd, dir int, name string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), dir, name, unix.AT_SYMLINK_FOLLOW)
}

// temporaryName calls try with random names until one is free.
func temporaryName(try func(name string) error) (string, error) {
	const tries = 100
	for range tries {
		name := ".bpcp." + rand.Text()
		if err := try(name); err == nil {
			return name, nil
		} else if !errors.Is(err, unix.EEXIST) {
			return "", err
		}
	}
	return "", unix.EEXIST
}

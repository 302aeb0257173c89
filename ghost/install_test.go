package ghost

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInstall has a keeper check images of another version, and installs new ones in their place.
func TestInstall(t *testing.T) {
	image, err := Image(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	fewer := fileCapability()
	fewer[4] = 0
	for _, c := range []struct {
		name string
		make func(path string) error
		good bool
		same bool // the file stays
	}{
		{"none", func(string) error { return nil }, false, false},
		{"installed", Install, true, true},
		{"another", func(path string) error { return os.WriteFile(path, append(image, 0), 0o755) }, false, false},
		{"no capabilities", func(path string) error { return os.WriteFile(path, image, 0o755) }, false, true},
		{"a user's", func(path string) error {
			return errors.Join(os.WriteFile(path, image, 0o755), os.Chown(path, nobody, nobody))
		}, false, false},
		{"others can write", func(path string) error {
			return errors.Join(os.WriteFile(path, image, 0o755), os.Chmod(path, 0o777))
		}, false, false},
		{"fewer capabilities", func(path string) error {
			if err := Install(path); err != nil {
				return err
			}
			return unix.Setxattr(path, "security.capability", fewer, 0)
		}, false, true},
	} {
		path := t.TempDir() + "/ghost"
		if err := c.make(path); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err := Check(path); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
		var before, after unix.Stat_t
		_ = unix.Stat(path, &before) // it may not exist
		if err := Install(path); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err := Check(path); err != nil {
			t.Errorf("%s, installed anew: %v", c.name, err)
		}
		if err := unix.Stat(path, &after); err != nil {
			t.Fatal(err)
		}
		if stays := before.Ino == after.Ino; stays != c.same {
			t.Errorf("%s: the file stays: %v", c.name, stays)
		}
	}
}

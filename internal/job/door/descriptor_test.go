package door

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCheck checks which descriptors of a user a command of root's may have.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = f.Chmod(mode)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	socket := func(domain, kind int) *os.File {
		fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "socket")
		t.Cleanup(func() { f.Close() })
		return f
	}
	setting, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer setting.Close()
	plain := file("plain", 0o644)
	for name, tt := range map[string]struct {
		f  *os.File
		ok bool
	}{
		"a file":              {plain, true},
		"TCP":                 {socket(unix.AF_INET, unix.SOCK_STREAM), true},
		"UDP":                 {socket(unix.AF_INET, unix.SOCK_DGRAM), false},
		"a unix stream":       {socket(unix.AF_UNIX, unix.SOCK_STREAM), false},
		"unix datagrams":      {socket(unix.AF_UNIX, unix.SOCK_DGRAM), false},
		"unix packets":        {socket(unix.AF_UNIX, unix.SOCK_SEQPACKET), false},
		"a set-user-ID file":  {file("user", 0o755|os.ModeSetuid), false},
		"a set-group-ID file": {file("group", 0o755|os.ModeSetgid), false},
		"a setting":           {setting, false},
	} {
		for i := range descriptors {
			files := []*os.File{plain, plain, plain}
			files[i] = tt.f
			if err := check(files); (err == nil) != tt.ok {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
	if err := check([]*os.File{plain}); err == nil {
		t.Error("one descriptor is enough")
	}
}

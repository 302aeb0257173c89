package target

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// TestPreserveReplaced: a file that is put at the temporary name of another keeps its owner and mode.
func TestPreserveReplaced(t *testing.T) {
	const stranger = 1234
	fifo := func(name string) error { return unix.Mkfifo(name, 0o600) }
	for _, tt := range []struct {
		name string
		make func(name, victim string) error
		uid  int // of the victim
		kind stream.Kind
		ok   bool // the name gets the owner and mode
	}{
		{"a FIFO", func(name, _ string) error { return fifo(name) }, 0, stream.FIFO, true},
		{"a link to a file", func(name, victim string) error {
			return errors.Join(os.WriteFile(victim, nil, 0o600), os.Symlink(victim, name))
		}, 0, stream.FIFO, false},
		{"a file", func(name, victim string) error {
			return errors.Join(os.WriteFile(victim, nil, 0o600), os.Rename(victim, name), os.Symlink(name, victim))
		}, 0, stream.FIFO, false},
		{"another name of a FIFO", func(name, victim string) error { return errors.Join(fifo(victim), os.Link(victim, name)) }, 0, stream.FIFO, false},
		{"another device", func(name, victim string) error {
			return errors.Join(unix.Mknod(name, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))), os.Symlink(name, victim))
		}, 0, stream.CharDevice, false},
		{"a stranger's FIFO", func(name, victim string) error { return errors.Join(fifo(name), os.Symlink(name, victim)) }, stranger, stream.FIFO, false},
	} {
		for _, proc := range []bool{true, false} {
			t.Run(tt.name, func(t *testing.T) {
				if os.Getuid() != 0 {
					t.Skip("needs root, to give files away")
				}
				dir := t.TempDir()
				name, victim := filepath.Join(dir, "name"), filepath.Join(dir, "victim")
				if err := tt.make(name, victim); err != nil {
					t.Fatal(err)
				}
				if tt.ok {
					victim = name
				}
				if err := os.Chown(victim, tt.uid, -1); err != nil {
					t.Fatal(err)
				}
				fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer unix.Close(fd)
				var problem error
				r := &reception{Target: &Target{proc: proc, Options: Options{
					Preserve: true, Problem: func(_ string, err error) { problem = err },
				}}}
				e := &stream.Entry{Kind: tt.kind, Mode: 0o4755, UID: 77, Device: unix.Mkdev(1, 3)}
				err = r.preserveSpecial(place{dir: &directory{fd: fd}}, "name", e)
				if tt.ok && !proc && errors.Is(err, unix.EOPNOTSUPP) { // before Linux 6.6: it is refused
					return
				}
				if err := errors.Join(err, problem); (err == nil) != tt.ok {
					t.Errorf("got %v", err)
				}
				var st unix.Stat_t
				if err := unix.Stat(victim, &st); err != nil {
					t.Fatal(err)
				}
				uid, mode := tt.uid, uint32(0o600)
				if tt.ok {
					uid, mode = 77, e.Mode
				}
				if st.Uid != uint32(uid) || st.Mode&0o7777 != mode {
					t.Errorf("the owner is %d, the mode %o; want %d, %o", st.Uid, st.Mode&0o7777, uid, mode)
				}
			})
		}
	}
}

package place_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"bproc/internal/job/place"
)

// owner returns the owner and the permissions of a file.
func owner(t *testing.T, path string) (uid uint32, mode os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid, info.Mode().Perm()
}

// TestMakeLogs gives the logs of a job to its next user, but no other files that the former one, who
// could write to their directory, has put there.
func TestMakeLogs(t *testing.T) {
	const former, next, third = 12345, 12346, 12347
	p := process(t)
	dir := p.Logs()
	if err := p.MakeLogs(place.User{UID: former, GID: former}, false); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(p.Root, "secret")
	write := func(path string, uid int) func() error {
		return func() error { return errors.Join(os.WriteFile(path, nil, 0o666), os.Chown(path, uid, uid)) }
	}
	log := func(name string) string { return filepath.Join(dir, name) }
	for _, do := range []func() error{
		write(secret, former), write(log("bpm.log"), former), write(log("a.stdout.log"), former), write(log("a.stderr.log.12"), former),
		write(log("own.log"), former), write(log("b.stdout.log"), third),
		func() error { return os.Symlink(secret, log("c.stdout.log")) },
		func() error { return os.Link(secret, log("d.stdout.log")) },
		func() error { return os.Chmod(dir, 0o777) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.MakeLogs(place.User{}, true); err != nil {
		t.Fatal(err)
	}
	if got, _ := owner(t, dir); got != former {
		t.Errorf("after a privileged process the directory is user %d's", got)
	}
	if err := p.MakeLogs(place.User{UID: next, GID: next}, false); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]uint32{
		dir: next, log("bpm.log"): next, log("a.stdout.log"): next, log("a.stderr.log.12"): next,
		log("own.log"): former, log("b.stdout.log"): third, secret: former,
	} {
		if got, _ := owner(t, path); got != want {
			t.Errorf("%s: got owner %d, want %d", path, got, want)
		}
	}
	if _, mode := owner(t, dir); mode != 0o755 {
		t.Errorf("got mode %v", mode)
	}
	if _, mode := owner(t, p.Events()); mode != 0o600 {
		t.Errorf("got mode %v", mode)
	}
}

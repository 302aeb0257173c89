package procevents_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/wire"
)

// asUser gives up all rights, forks, and executes a program with a set-user-ID bit.
func asUser() {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(syscall.Setresgid(2000, 2000, 2000))
	must(syscall.Setresuid(1000, 1000, 1000))
	must(exec.Command("/bin/true").Run())
	must(unix.Exec(os.Args[2], []string{"true"}, nil))
}

func TestCredentials(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{})
	dir := t.TempDir()
	program := filepath.Join(dir, "true")
	text, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Chmod(filepath.Dir(dir), 0o755),
		os.Chmod(dir, 0o755),
		os.WriteFile(program, text, 0o755),
		os.Chown(program, 7, 8),
		os.Chmod(program, 0o755|os.ModeSetuid|os.ModeSetgid),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.run("exec $SELF as-user " + program)
	var got []string
	source.Drain(func(r procevents.Record) {
		if r.Kind == procevents.Forked || r.Kind == procevents.Execed {
			got = append(got, fmt.Sprint(r.Kind == procevents.Forked, r.User, r.Group))
		}
	})
	got = slices.Compact(got) // when it forks first, the os package forks another
	ids := func(real, now uint32) wire.IDs { return wire.IDs{Real: real, Effective: now, Saved: now} }
	want := []string{
		fmt.Sprint(true, ids(0, 0), ids(0, 0)), // the shell
		fmt.Sprint(false, ids(0, 0), ids(0, 0)),
		fmt.Sprint(true, ids(1000, 1000), ids(2000, 2000)),  // a child
		fmt.Sprint(false, ids(1000, 1000), ids(2000, 2000)), // true
		fmt.Sprint(false, ids(1000, 7), ids(2000, 8)),       // true with the set-user-ID bit
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

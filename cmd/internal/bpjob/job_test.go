package bpjob

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bproc/internal/accounts"
	"bproc/internal/fakegetent"
)

// TestRunAs has a job of a user of a directory service, and one of root, for which nothing but files
// is read.
func TestRunAs(t *testing.T) {
	runs := fakegetent.Install(t, fakegetent.Alice)
	c := chosen{owner: 4_000_010_001}
	if u, err := c.runAs(); err != nil || u.Name != "alice" || u.GID != 4_000_010_002 {
		t.Errorf("got %+v, %v", u, err)
	}
	c.owner = 4_000_010_003
	if u, err := c.runAs(); err == nil || !strings.Contains(err.Error(), "user 4000010003 is not known here") {
		t.Errorf("got %+v, %v", u, err)
	}
	before := len(runs())
	c.owner = 0
	if u, err := c.runAs(); err != nil || u.Name != "root" && u.Name != bpmUser {
		t.Errorf("got %+v, %v", u, err)
	}
	if got := runs(); len(got) != before {
		t.Errorf("getent was executed for %q", got[before:])
	}
}

func TestGroupsOf(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(dir, "id"), []byte("#!/bin/sh\n[ $3 = alice ] && echo 7 8\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := groupsOf(&accounts.User{Name: "alice"}); err != nil || !slices.Equal(got, []uint32{7, 8}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := groupsOf(&accounts.User{Name: "root"}); err != nil || !slices.Contains(got, 0) {
		t.Errorf("root: got %v, %v", got, err)
	}
}

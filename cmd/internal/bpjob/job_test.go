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

// TestOwnerChanges has a job file change hands after the service has looked whose it is.
func TestOwnerChanges(t *testing.T) {
	for _, tt := range []struct {
		owner, caller uint32
		behalf, ok    bool
	}{
		{owner: 0, caller: 0, behalf: true, ok: true},
		{owner: 7, caller: 0, behalf: true},
		{owner: 7, caller: 0, ok: true}, // root decides
		{owner: 7, caller: 7, behalf: true, ok: true},
		{owner: 0, caller: 7, behalf: true},
	} {
		c := chosen{owner: tt.owner, caller: tt.caller, behalf: tt.behalf}
		if err := c.permit(); (err == nil) != tt.ok {
			t.Errorf("%+v: got %v", tt, err)
		}
	}
}

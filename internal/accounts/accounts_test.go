package accounts

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/internal/fakegetent"
)

func TestParseUser(t *testing.T) {
	for line, want := range map[string]User{
		"bob:x:1000:1001:Bob:/home/bob:/bin/zsh": {"bob", 1000, 1001, "/home/bob", "/bin/zsh"},
		"bob:x:1000:1001:::":                     {"bob", 1000, 1001, "/", "/bin/sh"},
		"bob:x:1000:1001::":                      {},
		"bob:x:-1:1001:::":                       {},
		"bob:x:4294967295:1001:::":               {},
		"bob:x:1000:4294967295:::":               {},
		"+bob:x:1000:1001:::":                    {},
		"#bob:x:1000:1001:::":                    {},
		"+::::::":                                {},
		"":                                       {},
	} {
		if got, ok := parseUser(line); got != want || ok != (want != User{}) {
			t.Errorf("%q: got %+v, %v, want %+v", line, got, ok, want)
		}
	}
}

func TestParseGroup(t *testing.T) {
	for line, want := range map[string]Group{
		"staff:x:50:":             {"staff", 50},
		"staff:x:50:bob,eve":      {"staff", 50},
		"staff:x:50":              {},
		"staff:x:4294967296:":     {},
		"+:::":                    {},
		"bob:x:1000:1001::/h:/sh": {},
	} {
		if got, ok := parseGroup(line); got != want || ok != (want != Group{}) {
			t.Errorf("%q: got %+v, %v, want %+v", line, got, ok, want)
		}
	}
}

// TestSearch looks for entries in a file with a very long line and without a newline at its end.
func TestSearch(t *testing.T) {
	name := filepath.Join(t.TempDir(), "group")
	text := "# groups\n\nroot:x:0:\nbig:x:7:" + strings.Repeat("member,", 30000) + "\nlast:x:9:"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	d := groups
	d.file = name
	for k, want := range map[key]Group{
		{name: "big"}: {"big", 7}, {id: 7}: {"big", 7}, {name: "last"}: {"last", 9}, {id: 0}: {"root", 0}, {name: "none"}: {}, {id: 8}: {},
	} {
		if got, ok := d.search(k); got != want || ok != (want != Group{}) {
			t.Errorf("%v: got %v, %v, want %v", k, got, ok, want)
		}
	}
}

func TestFinder(t *testing.T) {
	runs := fakegetent.Install(t, fakegetent.Alice)
	f := Finder{Most: 10}
	alice, hatters := User{"alice", 4_000_010_001, 4_000_010_002, "/home/alice", "/bin/zsh"}, Group{"hatters", 4_000_010_002}
	if u, err := f.User("alice"); u != alice || err != nil {
		t.Errorf("got %v, %v", u, err)
	}
	if u, err := f.UserID(alice.UID); u != alice || err != nil {
		t.Errorf("got %v, %v", u, err)
	}
	if g, err := f.Group("hatters"); g != hatters || err != nil {
		t.Errorf("got %v, %v", g, err)
	}
	if g, err := f.GroupID(hatters.GID); g != hatters || err != nil {
		t.Errorf("got %v, %v", g, err)
	}
	if u, err := f.User("no/user"); u != (User{}) || !errors.Is(err, ErrUnknown) || err.Error() != "user no/user is not known here" {
		t.Errorf("got %v, %v", u, err)
	}
	want := []string{"passwd -- alice", "passwd -- 4000010001", "group -- hatters", "group -- 4000010002", "passwd -- no/user"}
	if got := runs(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWithoutGetent looks up what is in files, and what cannot be anywhere.
func TestWithoutGetent(t *testing.T) {
	runs := fakegetent.Install(t, "exit 1")
	f := Finder{Most: 10}
	if u, err := f.User("root"); u.Name != "root" || u.UID != 0 || err != nil {
		t.Errorf("got %v, %v", u, err)
	}
	if g, err := f.GroupID(0); g.Name != "root" || err != nil {
		t.Errorf("got %v, %v", g, err)
	}
	for _, name := range []string{"", "4000010001", "#7", "+7", "-1", " 7", "a:b", "a\nb", "a\x00b"} {
		if u, err := f.User(name); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: got %v, %v", name, u, err)
		}
	}
	if u, err := f.UserID(none); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, %v", u, err)
	}
	if u, err := new(Finder).User("alice"); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, %v", u, err)
	}
	if got := runs(); len(got) != 0 {
		t.Errorf("getent was executed: %q", got)
	}
	t.Setenv("PATH", t.TempDir())
	if u, err := f.User("alice"); !errors.Is(err, ErrUnknown) {
		t.Errorf("without getent: got %v, %v", u, err)
	}
}

// TestOtherAnswers has a getent that finds something else.
func TestOtherAnswers(t *testing.T) {
	for _, script := range []string{"echo eve:x:7:7:::", "echo alice:x", "echo alice:x:-1:7:::", "echo", "true"} {
		fakegetent.Install(t, script)
		f := Finder{Most: 10}
		if u, err := f.User("alice"); u != (User{}) || err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("%s: got %v, %v", script, u, err)
		}
		if u, err := f.UserID(4_000_010_001); u != (User{}) || err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("%s: got %v, %v", script, u, err)
		}
	}
}

// TestFailure checks that a getent that has failed is not executed again.
func TestFailure(t *testing.T) {
	runs := fakegetent.Install(t, "exit 1")
	f := Finder{Most: 10}
	for _, name := range []string{"alice", "bob"} {
		want := "user " + name + " cannot be looked up: getent: exit status 1"
		if _, err := f.User(name); err == nil || errors.Is(err, ErrUnknown) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if got := runs(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestMost(t *testing.T) {
	runs := fakegetent.Install(t, "exit 2")
	f := Finder{Most: 2}
	for i, unknown := range []bool{true, true, false} {
		if _, err := f.GroupID(4_000_010_001 + uint32(i)); errors.Is(err, ErrUnknown) != unknown {
			t.Errorf("%d: got %v", i, err)
		}
	}
	if got := runs(); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

// TestLate has a getent that hangs, and one whose child keeps its output open. The time is nearly
// used up before.
func TestLate(t *testing.T) {
	for _, script := range []string{"exec sleep 60", "sleep 60"} {
		fakegetent.Install(t, script)
		f := Finder{Most: 10, spent: limit - 50*time.Millisecond}
		begun := time.Now()
		if _, err := f.User("alice"); err == nil || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "no answer within") {
			t.Errorf("%s: got %v", script, err)
		}
		if d := time.Since(begun); d > 30*time.Second {
			t.Errorf("%s: this took %v", script, d)
		}
	}
}

func TestGroupsOf(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for script, want := range map[string][]uint32{
		`[ "$*" = "-G -- alice" ] && echo 7 4000010002`: {7, 4_000_010_002}, "echo 7 x": nil, "exit 1": nil,
	} {
		if err := os.WriteFile(filepath.Join(dir, "id"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got, err := GroupsOf("alice"); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: got %v, %v, want %v", script, got, err, want)
		}
	}
}

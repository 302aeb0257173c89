package recording_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/recording"
	"bproc/master/core"
	"bproc/wire"
)

// TestRing checks that the last inputs are in a bounded number of files, readable by root alone,
// and can be replayed.
func TestRing(t *testing.T) {
	dir := t.TempDir() + "/inputs"
	r, err := recording.NewRing(dir, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_000_000, 0)
	r.Begin(now, core.Config{Now: now, Lease: 30 * time.Second})
	r.Input(now, core.Join{Identity: "a", Host: "a", Want: 3})
	r.Input(now, core.FromKeeper{Number: 9, Message: &wire.GhostDone{Errno: 3}})
	r.Input(now, core.Answer{Number: 9, Errno: unix.EPERM})
	var out strings.Builder
	for _, path := range recording.Paths(dir) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if whole, err := recording.Replay(strings.NewReader(string(text)), &out, new(core.Recorded)); err != nil || !whole {
			t.Fatal(whole, err)
		}
	}
	if got := out.String(); !strings.Contains(got, "Join {") || !strings.Contains(got, "\tKeep {") || !strings.Contains(got, `"Errno":3`) || !strings.Contains(got, `"Errno":1`) {
		t.Errorf("replayed: %s", got)
	}
	many := core.Join{Host: strings.Repeat("x", recording.FileSize/2)}
	for range 2*recording.Files + 3 {
		r.Input(now, many)
	}
	paths := recording.Paths(dir)
	if len(paths) != recording.Files {
		t.Errorf("%d files, want %d", len(paths), recording.Files)
	}
	first, err := os.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if whole, err := recording.Replay(first, io.Discard, new(core.Recorded)); err != nil || whole {
		t.Errorf("the start is lost: whole: %t, %v", whole, err)
	}
}

// TestRingEnds lets a ring lose its directory, which must be reported once, when another file is
// due.
func TestRingEnds(t *testing.T) {
	dir := t.TempDir() + "/inputs"
	ended := 0
	r, err := recording.NewRing(dir, func(error) { ended++ })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		r.Input(time.Unix(1_000_000, 0), core.Join{Host: strings.Repeat("x", recording.FileSize/2)})
	}
	if ended != 1 {
		t.Errorf("the end was said %d times", ended)
	}
}

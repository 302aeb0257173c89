package bpstat_test

import (
	"fmt"
	"testing"

	"bproc/cmd/internal/bpstat"
	"bproc/internal/fakegetent"
	"bproc/test/limit"
)

// TestOwners names users and groups of a directory service, each looked up once, and not too many.
func TestOwners(t *testing.T) {
	runs := fakegetent.Install(t, fakegetent.Alice)
	var o bpstat.Owners
	for range 2 {
		for got, want := range map[string]string{
			o.User(0): "root", o.User(4_000_010_001): "alice", o.User(4_000_010_002): "#4000010002", o.Group(4_000_010_002): "hatters",
		} {
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
	if got := runs(); len(got) != 3 {
		t.Errorf("getent was executed for %q", got)
	}
	for i := range uint32(100) {
		uid := nobody + i
		if got, want := o.User(uid), fmt.Sprint("#", uid); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := len(runs()); got > 64 || got < 64 && !limit.Slow() { // they have a limit of time, too
		t.Errorf("getent was executed %d times", got)
	}
}

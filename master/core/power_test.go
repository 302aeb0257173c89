package core

import "testing"

// TestPrintable checks that a text of a node does nothing to a terminal, with control characters of
// either kind.
func TestPrintable(t *testing.T) {
	if got, want := printable("a\x1b[2Jb\u009b2Jc\u202ed\xffé"), "a [2Jb 2Jc d é"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package client

import "testing"

// TestErrorOnScreen checks that a node's words do nothing to a terminal.
func TestErrorOnScreen(t *testing.T) {
	for _, e := range []*Error{{Node: 3, Text: "a\x1b[2J"}, {Node: 3, Stage: StageDir, Command: "a\x1b[2J", Errno: 2}} {
		for _, r := range e.Error() {
			if r == '\x1b' {
				t.Errorf("got %q", e.Error())
			}
		}
	}
}

package nearest_test

import (
	"testing"

	"bproc/internal/nearest"
)

func TestTo(t *testing.T) {
	known := []string{"lease", "listen", "node", "nodes", "up"}
	for word, want := range map[string]string{
		"lesae": "lease", "leas": "lease", "Lease": "lease", "nod": "node", "ndoe": "node", "listne": "listen", "nodess": "nodes",
		"upp": "up", "x": "", "something": "", "": "",
	} {
		if got := nearest.To(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestSlip(t *testing.T) {
	known := []string{"boot", "down", "halt", "up"}
	for word, want := range map[string]string{
		"boot": "", "bot": "boot", "boott": "boot", "bott": "boot", "obot": "boot", "dwon": "down", "upp": "up", "held": "", "u": "", "us": "", "idle": "", "": "",
	} {
		if got := nearest.Slip(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

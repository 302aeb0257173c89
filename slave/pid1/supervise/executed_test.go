package supervise

import "testing"

func TestExecuted(t *testing.T) {
	for _, c := range []struct {
		name, stat string
		want       bool
	}{
		{"forked", "70001 (sh) S 1 2 3 0 -1 4194368 110 0", false},
		{"executed since", "70001 (sh) S 1 2 3 0 -1 4194304 110 0", true},
		{"name that tries", "70001 (a) S 1 2 3 0 -1 64 x) S 1 2 3 0 -1 4194304 110 0", true},
		{"cut off", "70001 (sh) S 1 2 3 0", false},
		{"nothing", "", false},
	} {
		if got := executed([]byte(c.stat)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

package supervise

import (
	"strings"
	"testing"

	"bproc/internal/job/spec"
)

func TestGate(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		ready      int
		to, why    string
	}{
		{"nothing", "", 0, "", ""},
		{"failure", "no such\n file\n", 0, "", "no such file"},
		{"a part of the mark", spec.Ready[:3], 0, "", "\x00re"},
		{"ready", spec.Ready, 1, "", ""},
		{"ready and output", spec.Ready + "x" + spec.Ready, 1, "x" + spec.Ready, ""},
		{"long failure", strings.Repeat("x", 2*maxWhy), 0, "", strings.Repeat("x", maxWhy)},
	} {
		for _, size := range []int{1, 4, 1 << 20} { // size of each written piece
			var to strings.Builder
			ready := 0
			g := &gate{to: &to, ready: func() { ready++ }}
			for rest := tt.says; rest != ""; {
				n := min(size, len(rest))
				if m, err := g.Write([]byte(rest[:n])); m != n || err != nil {
					t.Fatalf("%s: got %d, %v", tt.name, m, err)
				}
				rest = rest[n:]
			}
			if ready != tt.ready || to.String() != tt.to || g.why() != tt.why {
				t.Errorf("%s in pieces of %d: got %d, %q, %q", tt.name, size, ready, to.String(), g.why())
			}
		}
	}
}

package crowd_test

import (
	"testing"

	"bproc/internal/crowd"
)

// TestShares lets users take as many places as they can get, one after the other.
func TestShares(t *testing.T) {
	s := crowd.NewShares[string](1024)
	takeAll := func(who string) (n int) {
		for s.Take(who, 1) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		who  string
		want int
	}{{"a", 512}, {"b", 256}, {"a", 0}, {"c", 128}, {"d", 64}} {
		if got := takeAll(c.who); got != c.want {
			t.Errorf("%s: got %d, want %d", c.who, got, c.want)
		}
	}
	if got := s.Taken(); got != 512+256+128+64 {
		t.Errorf("%d places are taken", got)
	}
	s.Leave("a", 512)
	if got := takeAll("b"); got != 160 {
		t.Errorf("b: got %d more, want 160", got)
	}
	if s.Take("e", 1000) || !s.Take("e", 400) || s.Take("e", 17) {
		t.Error("e: many at once are not counted")
	}
	s.Leave("e", 400)
	s.Leave("b", 416)
	s.Leave("c", 128)
	s.Leave("d", 64)
	if got := takeAll("f"); got != 512 {
		t.Errorf("when all have left: got %d", got)
	}
}

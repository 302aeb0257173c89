package master

import "testing"

// TestSpaceOf checks that slaves of a version before, which tell no identity of their process space, have one for each boot.
func TestSpaceOf(t *testing.T) {
	t.Parallel()
	if a, b := spaceOf("a"), spaceOf("b"); a == 0 || b == 0 || a == b || a != spaceOf("a") || spaceOf("") == 0 {
		t.Errorf("got %d and %d for two boots", a, b)
	}
}

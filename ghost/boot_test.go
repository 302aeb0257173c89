package ghost

import "testing"

func TestThisBoot(t *testing.T) {
	if a, b := thisBoot(), thisBoot(); a != b || a == 0 {
		t.Errorf("%d and then %d, want one number that is not 0", a, b)
	}
}

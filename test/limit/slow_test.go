package limit_test

import (
	"testing"
	"time"

	"bproc/test/limit"
)

func TestScaled(t *testing.T) {
	for value, want := range map[string]time.Duration{"": time.Second, "1": time.Second, "10": 10 * time.Second, "-3": time.Second, "fast": time.Second} {
		t.Setenv("BPROC_SLOW", value)
		if got := limit.Scaled(time.Second); got != want {
			t.Errorf("BPROC_SLOW=%s: got %v, want %v", value, got, want)
		}
	}
}

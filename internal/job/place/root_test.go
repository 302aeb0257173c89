package place_test

import (
	"testing"

	"bproc/internal/job/place"
)

// TestRoot checks that a root that a job would not see is refused.
func TestRoot(t *testing.T) {
	for root, ok := range map[string]bool{"": true, "/opt/jobs": true, "/tmpfiles": true, "jobs": false, "/tmp": false, "/tmp/x": false, "/opt/../var/tmp/x": false} {
		t.Setenv(place.RootVariable, root)
		if got, err := place.Root(); (err == nil) != ok {
			t.Errorf("%q: got %q, %v", root, got, err)
		}
	}
}

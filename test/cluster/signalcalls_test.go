package cluster_test

import (
	"testing"

	"bproc/test/cluster"
)

// TestConformSignals sends signals within a tree of processes by every call that sends one.
func TestConformSignals(t *testing.T) {
	t.Parallel()
	for _, user := range users {
		t.Run(user.Name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			bothPlaces(t, c, func(t *testing.T, at place) []string {
				return converse(t, c, user, at, conform(t, "signals")).rest()
			})
		})
	}
}

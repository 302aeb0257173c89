package sim_test

import (
	"flag"
	"testing"

	"bproc/test/sim"
)

var (
	seeds = flag.Int("sim.seeds", 2000, "how many seeds")
	first = flag.Uint64("sim.first", 1, "the first of them")
	lines = flag.Int("sim.lines", 60, "how many lines of a transcript are shown")
	steps = flag.Int("sim.steps", 1000, "steps of each")
)

// TestCluster has simulated clusters live and come to rest.
func TestCluster(t *testing.T) {
	faults, all := map[string]int{}, 0
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		s := sim.New(seed, 1+int(seed%3), false)
		err := s.Run(*steps)
		all += s.Steps
		for kind, n := range s.Faults {
			faults[kind] += n
		}
		if err != nil {
			again := sim.New(seed, 1+int(seed%3), true)
			t.Fatalf("seed %d, step %d: %v\n%v\n%s", seed, s.Steps, err, again.Run(*steps), again.Transcript(*lines))
		}
	}
	t.Logf("%d seeds from %d on, %d steps, faults: %v", *seeds, *first, all, faults)
}

package sim_test

import (
	"flag"
	"runtime"
	"sync"
	"testing"

	"bproc/test/sim"
)

var (
	seeds = flag.Int("sim.seeds", 2000, "how many seeds")
	first = flag.Uint64("sim.first", 1, "the first of them")
	lines = flag.Int("sim.lines", 60, "how many lines of a transcript are shown")
	goOn  = flag.Bool("sim.all", false, "go on after a violation, and only say of what kind each is")
	steps = flag.Int("sim.steps", 1000, "steps of each")
)

// TestCluster has simulated clusters live and come to rest, as many at once as there are processors.
func TestCluster(t *testing.T) {
	var mu sync.Mutex
	faults, all, next := map[string]int{}, 0, *first
	one := func() bool {
		mu.Lock()
		seed := next
		next++
		mu.Unlock()
		if seed >= *first+uint64(*seeds) || t.Failed() && !*goOn {
			return false
		}
		s := sim.New(seed, nodes(seed), false)
		err := s.Run(*steps)
		mu.Lock()
		defer mu.Unlock()
		all += s.Steps
		for kind, n := range s.Faults {
			faults[kind] += n
		}
		if err != nil && *goOn {
			t.Errorf("seed %d, step %d: %s: %v", seed, s.Steps, s.Kind, err)
		} else if err != nil {
			again := sim.New(seed, nodes(seed), true)
			t.Errorf("seed %d, step %d: %v\n%v\n%s", seed, s.Steps, err, again.Run(*steps), again.Transcript(*lines))
		}
		return err == nil || *goOn
	}
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for one() {
			}
		})
	}
	group.Wait()
	t.Logf("%d seeds from %d on, %d steps, faults: %v", *seeds, *first, all, faults)
}

func nodes(seed uint64) int { return 1 + int(seed%4) }

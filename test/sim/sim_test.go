package sim_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"bproc/test/sim"
)

var (
	seeds = flag.Int("sim.seeds", 2000, "how many seeds")
	first = flag.Uint64("sim.first", 1, "the first of them")
	lines = flag.Int("sim.lines", 60, "how many lines of a transcript are shown; 0: nothing is shrunk")
	goOn  = flag.Bool("sim.all", false, "go on after a violation, and only say of what kind each is")
	steps = flag.Int("sim.steps", 1000, "steps of each")
)

// TestCluster runs simulated clusters until they are at rest, as many at once as there are
// processors.
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
		if err != nil && (*goOn || *lines == 0) {
			t.Errorf("seed %d, step %d: %s: %v", seed, s.Steps, s.Kind, err)
		} else if err != nil {
			t.Errorf("seed %d, step %d: %v\n%s", seed, s.Steps, err, shrunk(seed))
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

// shrunk shrinks a seed that violates an invariant, and returns its steps and the transcripts of
// the cores, which their tests replay from testdata/recorded.
func shrunk(seed uint64) string {
	s, left := sim.Shrink(seed, nodes(seed), *steps, nil)
	if s == nil {
		return "not again"
	}
	lives, err := s.Lives()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("with %d steps: %s\n%s", len(left), s.Transcript(*lines), strings.Join(lives, "\n"))
}

package sim_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"bproc/test/sim"
)

var (
	seeds = flag.Int("sim.seeds", 2000, "how many seeds; 0: until it is stopped")
	first = flag.Uint64("sim.first", 1, "the first of them")
	lines = flag.Int("sim.lines", 60, "how many lines of a transcript are shown; 0: nothing is shrunk")
	goOn  = flag.Bool("sim.all", false, "go on after a violation, and only say of what kind each is")
	often = flag.Duration("sim.report", time.Minute, "how often it is said how far it has come")
	steps = flag.Int("sim.steps", 1000, "steps of each")
)

// progress is what was seen of the seeds so far.
type progress struct {
	mu         sync.Mutex
	next       uint64 // seed
	runs       int
	steps      int
	violations int
	faults     map[string]int
	reported   time.Time
}

// take returns the next seed; false: there is none.
func (p *progress) take(t *testing.T) (seed uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *seeds > 0 && p.next >= *first+uint64(*seeds) || t.Failed() && !*goOn {
		return 0, false
	}
	p.next++
	return p.next - 1, true
}

// add counts a run. Now and then it says how far all runs have come: go test prints that at once.
func (p *progress) add(s *sim.Sim, violated bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	p.steps += s.Steps
	if violated {
		p.violations++
	}
	for kind, n := range s.Faults {
		p.faults[kind] += n
	}
	if time.Since(p.reported) >= *often {
		p.reported = time.Now()
		fmt.Println(p.text())
	}
}

func (p *progress) text() string {
	return fmt.Sprintf("%d seeds from %d on, %d steps, %d violations, faults: %v", p.runs, *first, p.steps, p.violations, p.faults)
}

// TestCluster runs simulated clusters until they are at rest, as many at once as there are
// processors.
func TestCluster(t *testing.T) {
	p := progress{next: *first, faults: map[string]int{}, reported: time.Now()}
	one := func() bool {
		seed, ok := p.take(t)
		if !ok {
			return false
		}
		s := sim.New(seed, nodes(seed), false)
		err := s.Run(*steps)
		p.add(s, err != nil)
		switch {
		case err == nil:
		case *goOn || *lines == 0:
			t.Errorf("seed %d, step %d: %s: %v", seed, s.Steps, s.Kind, err)
		default:
			t.Errorf("seed %d, step %d: %v\n%s", seed, s.Steps, err, shrunk(seed))
		}
		return true
	}
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for one() {
			}
		})
	}
	group.Wait()
	t.Log(p.text())
}

// TestLives checks that all inputs of the cores can be recorded and replayed, whatever they tell of.
func TestLives(t *testing.T) {
	for seed := *first; seed < *first+20; seed++ {
		s := sim.New(seed, nodes(seed), true)
		if err := s.Run(*steps); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		lives, err := s.Lives()
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, l := range lives {
			if strings.Contains(l, "\n# ") {
				t.Errorf("seed %d: an input was not recorded: %s", seed, l)
			}
		}
	}
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

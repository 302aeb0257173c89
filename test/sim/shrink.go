package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	master "bproc/master/core"
	slave "bproc/slave/core"

	"bproc/internal/recording"
)

// life has the inputs of a core from its beginning, as lines of a recording. A nil life records
// nothing.
type life struct {
	of    string
	lines strings.Builder
}

// record begins the life of a core.
func (s *Sim) record(of string, config any) *life {
	if !s.Notes {
		return nil
	}
	l := &life{of: of}
	l.add(recording.Begin(s.now, config))
	s.lives = append(s.lives, l)
	return l
}

func (l *life) input(now time.Time, in any) {
	if l != nil {
		l.add(recording.Line(now, in))
	}
}

func (l *life) add(line string, err error) {
	if err != nil {
		line = fmt.Sprintf("# %v\n", err)
	}
	l.lines.WriteString(line)
}

// Lives returns the transcripts of all cores: the owner, and each input with its outputs, in the
// form that the tests of the cores replay (testdata/recorded).
func (s *Sim) Lives() (all []string, err error) {
	for _, l := range s.lives {
		var m recording.Machine = new(slave.Recorded)
		if l.of == "master" {
			m = new(master.Recorded)
		}
		var out strings.Builder
		if _, err := recording.Replay(strings.NewReader(l.lines.String()), &out, m); err != nil {
			return nil, fmt.Errorf("%s: %w", l.of, err)
		}
		all = append(all, fmt.Sprintf("# %s\n%s", l.of, out.String()))
	}
	return all, nil
}

// Break drops the outputs of the master's core that lost selects: for tests of the simulation
// itself.
func (s *Sim) Break(lost func(master.Output) bool) { s.broken = lost }

// maxRuns bounds the runs of a seed while it is shrunk.
const maxRuns = 600

// Shrink removes the steps of a seed without which it violates the same invariant. It returns the
// cluster after the remaining steps, with notes, and these steps; nil if the seed violates nothing.
// The steps depend on the seed alone, as each has random numbers of its own.
func Shrink(seed uint64, nodes, steps int, lost func(master.Output) bool) (s *Sim, left []int) {
	run := func(only []int, notes bool) *Sim {
		s := New(seed, nodes, notes)
		s.only, s.broken = only, lost
		_ = s.Run(steps) // the error is in s.violated
		return s
	}
	for i := range steps {
		left = append(left, i)
	}
	first := run(left, false)
	if first.violated == nil {
		return nil, nil
	}
	left = left[:min(len(left), first.Steps+1)]
	runs := 0
	for size := len(left) / 2; size > 0 && runs < maxRuns; {
		before := len(left)
		for at := 0; at < len(left) && runs < maxRuns; runs++ {
			fewer := slices.Delete(slices.Clone(left), at, min(at+size, len(left)))
			if again := run(append([]int{}, fewer...), false); again.Kind == first.Kind {
				left = fewer
			} else {
				at += size
			}
		}
		if size == 1 && len(left) == before {
			break
		}
		size = max(1, size/2)
	}
	return run(append([]int{}, left...), true), left
}

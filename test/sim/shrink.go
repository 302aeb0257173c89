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

// life are the inputs of a core from its beginning, the lines of a recording. A nil life keeps nothing.
type life struct {
	of    string
	lines strings.Builder
}

// record begins with the life of a core.
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

// Lives returns the transcripts of all cores: whose each is, and each input with what comes out, as the tests of the
// cores replay them (testdata/recorded).
func (s *Sim) Lives() (all []string, err error) {
	for _, l := range s.lives {
		var m recording.Machine = new(slave.Recorded)
		if l.of == "master" {
			m = new(master.Recorded)
		}
		var out strings.Builder
		if err := recording.Replay(strings.NewReader(l.lines.String()), &out, m); err != nil {
			return nil, fmt.Errorf("%s: %w", l.of, err)
		}
		all = append(all, fmt.Sprintf("# %s\n%s", l.of, out.String()))
	}
	return all, nil
}

// Break has what the master's core says not be done if lost says so: for tests of the simulation itself.
func (s *Sim) Break(lost func(master.Output) bool) { s.broken = lost }

// maxRuns bounds how often a seed is run while it is shrunk.
const maxRuns = 600

// Shrink returns what is left of a cluster that violates something when all steps are left out without which it violates the
// same, with notes; nil if it violates nothing. Which steps these are depends on the seed alone: each step has chances of its
// own.
func Shrink(seed uint64, nodes, steps int, lost func(master.Output) bool) (s *Sim, left []int) {
	run := func(only []int, notes bool) *Sim {
		s := New(seed, nodes, notes)
		s.only, s.broken = only, lost
		_ = s.Run(steps) // s.violated has it
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

package sim_test

import (
	"strings"
	"testing"

	"bproc/master/core"
	"bproc/test/sim"
	"bproc/wire"
)

// TestShrunk checks that a cluster whose core loses each SIGUSR1 is shrunk to a few steps, always
// the same, and that their transcripts can be replayed.
func TestShrunk(t *testing.T) {
	broken := func(o core.Output) bool {
		m, is := o.(core.ToNode)
		if !is {
			return false
		}
		signal, is := m.Message.(*wire.Signal)
		return is && signal.Seq != 0 && signal.Info[0] == 10
	}
	seed := uint64(1)
	s, left := sim.Shrink(seed, 2, 400, broken)
	for s == nil {
		seed++
		s, left = sim.Shrink(seed, 2, 400, broken)
	}
	if len(left) > 40 {
		t.Errorf("%d steps are left of 400: %v", len(left), left)
	}
	lives, err := s.Lives()
	if err != nil {
		t.Fatal(err)
	}
	if len(lives) < 2 || !strings.Contains(lives[0], "FromKeeper") || !strings.Contains(lives[0], "\n\tToNode") {
		t.Errorf("the transcripts say too little: %d of them, the first\n%s", len(lives), lives[0])
	}
	again, same := sim.Shrink(seed, 2, 400, broken)
	if again == nil || len(same) != len(left) || again.Transcript(1000) != s.Transcript(1000) {
		t.Errorf("it is shrunk to %v, and then to %v", left, same)
	}
	t.Logf("%d steps are left: %v", len(left), left)
}

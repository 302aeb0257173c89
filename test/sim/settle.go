package sim

import "time"

// settle brings everything to rest: nothing fails, nothing begins, and when all messages have
// arrived, the processes end.
func (s *Sim) settle() {
	s.quiet = true
	ends := false
	for round := 0; round < 1000 && s.violated == nil; round++ {
		s.source.Seed(s.seed, 1<<32+uint64(round))
		s.allUp()
		for _, n := range s.nodes {
			n.heal()
			n.calm(ends)
		}
		s.clientActs()
		for range 30 {
			s.deliver()
			s.keeper.work()
		}
		s.answerLate()
		s.pass(time.Second)
		s.check()
		switch {
		case ends && s.atRest() == "":
			return
		case !ends && round > 40 && s.drained():
			ends = true
			s.checkCalm()
		}
	}
	if s.violated == nil {
		s.fail("it does not come to rest: %s", s.atRest())
	}
}

// drained reports whether nothing is in transit.
func (s *Sim) drained() bool {
	for _, n := range s.nodes {
		if l := n.link; l == nil || l.closed || len(l.up)+len(l.down)+len(l.spawns) > 0 || n.slave.busy() {
			return false
		}
	}
	return len(s.keeper.in)+len(s.keeper.out)+len(s.writes)+len(s.written) == 0
}

package sim

import (
	"time"

	"bproc/master/core"
)

// disturb causes a fault.
func (s *Sim) disturb() {
	n := pick(s.rng, s.nodes)
	switch s.rng.IntN(15) {
	case 12:
		n.misbehaves()
	case 13:
		if s.chance(4) {
			n.leave()
		}
	case 0, 1:
		n.loseSession("session lost")
	case 2, 3:
		n.cut()
	case 4, 5, 6:
		n.heal()
	case 7:
		n.restart()
	case 8:
		if s.chance(4) {
			n.reboot()
		}
	case 9:
		s.loseMaster()
	case 10:
		if s.chance(3) {
			s.keeper.cut()
		} else {
			s.keeper.dies()
		}
	case 11:
		if s.chance(8) {
			s.fault("long cut", n.id)
			n.cut()
			s.pass(lease + 2*time.Second)
			s.pass(core.LeaseMargin)
		}
	case 14:
		if s.chance(4) {
			s.rebootFrontEnd()
		}
	}
}

// loseMaster ends the master, and starts another one.
func (s *Sim) loseMaster() {
	s.fault("master dies")
	s.masterEnds()
	for range s.rng.IntN(len(s.keeper.in) + 1) {
		s.keeper.do() // requests that had reached the keeper
	}
	s.keeper.in, s.keeper.out = nil, nil
	s.begin()
}

// masterEnds ends everybody's connection with the master, and what it has not written yet.
func (s *Sim) masterEnds() {
	for _, n := range s.nodes {
		n.drop()
	}
	clear(s.links)
	s.disconnectAll()
	s.loseWrites()
}

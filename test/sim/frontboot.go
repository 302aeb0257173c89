package sim

// rebootFrontEnd ends the front end's machine, with all clients and ghosts, and begins its next boot with
// a new keeper and master. Process numbers and those of signals begin anew. Processes on nodes go on
// until their node finds the new master, or its lease runs out.
func (s *Sim) rebootFrontEnd() {
	s.fault("front end reboots")
	s.masterEnds()
	for _, c := range s.everyone {
		c.failed, c.left = true, true
	}
	s.bootedAt = s.births
	boot := s.keeper.boot
	s.kernel, s.keeper = newKernel(s), newKeeper(s)
	s.keeper.boot = boot + 1
	s.begin()
}

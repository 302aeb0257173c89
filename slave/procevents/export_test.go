package procevents

// Notices returns the present notices.
func (s *Source) Notices() []Record { return s.notices.take() }

// Urgent returns how many records there were of processes that had been reported.
func (s *Source) Urgent() uint64 { return s.urgent() }

// Drain is Read and Release of everything.
func (s *Source) Drain(f func(Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.ring.drain(f)
	}
}

// Stats counts what a tracker keeps.
type Stats struct {
	Processes int // known, announced or not
	Queued    int // births, changes and ends held back
	Buried    int // have ended and are kept for their descendants
}

// Stats returns the present numbers.
func (t *Tracker) Stats() Stats {
	s := Stats{Processes: len(t.procs), Queued: len(t.queue.items), Buried: len(t.buried)}
	for _, former := range t.parted {
		s.Processes += len(former)
	}
	return s
}

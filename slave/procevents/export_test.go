package procevents

// Notices returns the present notices.
func (s *Source) Notices() []Record { return s.notices.take() }

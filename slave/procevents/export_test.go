package procevents

// Notices returns the notices that there are.
func (s *Source) Notices() []Record { return s.notices.take() }

package sim

import (
	"maps"

	"bproc/master/core"
)

// write writes a record to disk, or fails.
func (s *Sim) write(o core.Keep) core.Kept {
	if !s.quiet && !s.peaceful && s.chance(20) {
		s.fault("store")
		return core.Kept{Number: o.Number, Err: errStore}
	}
	maps.Copy(s.kept[o.Table], o.Records)
	maps.DeleteFunc(s.kept[o.Table], func(_ string, record []byte) bool { return record == nil })
	return core.Kept{Number: o.Number}
}

// writeAll writes the records that the master has not waited for.
func (s *Sim) writeAll() {
	for _, o := range s.writes {
		s.written = append(s.written, s.write(o))
	}
	s.writes = nil
}

// loseWrites drops records that the master has not waited for, except some that are on disk.
func (s *Sim) loseWrites() {
	for _, o := range s.writes[:s.rng.IntN(len(s.writes)+1)] {
		s.write(o)
	}
	s.writes, s.written = nil, nil
}

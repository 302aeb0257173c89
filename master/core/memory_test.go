package core

import "maps"

// memory is a table of the store in memory.
type memory struct {
	records map[string][]byte
	err     error // of every change
}

func (m *memory) change(records map[string][]byte) error {
	if m.err != nil {
		return m.err
	}
	if m.records == nil {
		m.records = map[string][]byte{}
	}
	maps.Copy(m.records, records)
	maps.DeleteFunc(m.records, func(_ string, record []byte) bool { return record == nil })
	return nil
}

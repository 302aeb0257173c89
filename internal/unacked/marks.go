package unacked

import "bproc/wire"

// Marks are the numbers of the last items that processes got. The numbers grow over all processes of a
// boot of the front end, so the mark of a process that is gone does not apply to another process with
// its number. The receiver may outlive the front end: with the first item of another boot all marks
// are forgotten. Items with number 0 have no marks.
type Marks struct {
	boot uint64
	last map[wire.PID]uint64
}

// Boot returns the boot of the marks; 0: there was none.
func (m *Marks) Boot() uint64 { return m.boot }

// Len returns the number of marks.
func (m *Marks) Len() int { return len(m.last) }

// Had reports whether a process has got an item.
func (m *Marks) Had(pid wire.PID, boot, number uint64) bool {
	m.SetBoot(boot, number)
	return number != 0 && number <= m.last[pid]
}

// SetBoot forgets the marks if an item is the first of another boot, and reports whether it is. Had and
// Set do so, too.
func (m *Marks) SetBoot(boot, number uint64) bool {
	if number == 0 || boot == m.boot {
		return false
	}
	m.boot = boot
	clear(m.last)
	return true
}

// Set notes that a process gets an item, now or before, and returns its mark.
func (m *Marks) Set(pid wire.PID, boot, number uint64) uint64 {
	if number == 0 {
		return 0
	}
	if m.last == nil {
		m.last = make(map[wire.PID]uint64)
	}
	m.SetBoot(boot, number)
	number = max(number, m.last[pid])
	m.last[pid] = number
	return number
}

// Forget forgets the mark of a process that has ended.
func (m *Marks) Forget(pid wire.PID) { delete(m.last, pid) }

// Keep forgets the marks of other processes.
func (m *Marks) Keep(of func(wire.PID) bool) {
	for pid := range m.last {
		if !of(pid) {
			delete(m.last, pid)
		}
	}
}

// Clear forgets all marks.
func (m *Marks) Clear() { clear(m.last) }

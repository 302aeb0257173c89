package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"bproc/internal/procstat"
	"bproc/wire"
)

// Bounds that leave room for additions of later kernels.
const (
	maxFields = 100
	maxField  = 24  // bytes
	maxName   = 256 // bytes; a kernel's names have at most 64, before escaping
)

// errForm means that a text does not have the form that the kernel gives it.
var errForm = errors.New("unexpected form")

// statLine is /proc/PID/stat, split.
type statLine struct {
	head []byte            // the fields, each followed by a space or the end of the line
	rest []byte            // the fields, each with the space or the end of the line behind it
	ends [maxFields]uint16 // offset of the end of each field in rest
	n    int               // number of fields
}

// parseStat splits the line of the thread or process with a number. The name may contain anything,
// so its end is searched from the end of the line.
func parseStat(text []byte, pid wire.PID) (l statLine, err error) {
	end := bytes.LastIndexByte(text, ')')
	number := strconv.AppendInt(make([]byte, 0, maxField), int64(pid), 10)
	open := len(number) + len(" (")
	if end < open || !bytes.HasPrefix(text, number) || string(text[len(number):open]) != " (" {
		return l, fmt.Errorf("stat of %d: %w", pid, errForm)
	}
	if end > open+maxName || bytes.IndexByte(text[:end], 0) >= 0 {
		return l, fmt.Errorf("stat of %d, name: %w", pid, errForm)
	}
	l.head = text[:end+1]
	rest, found := bytes.CutPrefix(text[end+1:], []byte{' '})
	if l.rest = rest; !found || !l.split() {
		return l, fmt.Errorf("stat of %d, field %d: %w", pid, l.n+3, errForm)
	}
	if l.n <= int(procstat.ExitCode-procstat.State) {
		return l, fmt.Errorf("stat of %d: %d fields: %w", pid, l.n, errForm)
	}
	return l, nil
}

// split finds the fields, and reports whether they have the form that a kernel writes.
func (l *statLine) split() bool {
	for from := 0; from < len(l.rest); l.n++ {
		size := fieldSize(l.rest[from:], procstat.State+procstat.Field(l.n))
		end := from + size
		if size == 0 || l.n == maxFields || end >= len(l.rest) {
			return false
		}
		l.ends[l.n] = uint16(end) // lines are short
		from = end + 1
		if last := from == len(l.rest); last != (l.rest[end] == '\n') || !last && l.rest[end] != ' ' {
			return false
		}
	}
	return true
}

// fieldSize returns the size of the field at the beginning of a text; 0 if the text does not have
// that field's form.
func fieldSize(text []byte, f procstat.Field) int {
	if f == procstat.State {
		if len(text) > 0 && (text[0] >= 'A' && text[0] <= 'Z' || text[0] >= 'a' && text[0] <= 'z') {
			return 1
		}
		return 0
	}
	size := 0
	if len(text) > 0 && text[0] == '-' && maybeNegative(f) {
		size = 1
	}
	digits := 0
	for size < len(text) && text[size] >= '0' && text[size] <= '9' {
		size++
		digits++
	}
	if digits == 0 || size > maxField {
		return 0
	}
	return size
}

// maybeNegative reports whether the kernel ever writes a negative number into a field: all others
// are sizes, times, counts, addresses and sets (do_task_stat of fs/proc/array.c). Group and session
// are -1 for a process that is ending.
func maybeNegative(f procstat.Field) bool {
	switch f {
	case procstat.Group, procstat.Session, procstat.TTY, procstat.Foreground, procstat.Priority, procstat.Nice, procstat.ExitSignal, procstat.ExitCode:
		return true
	default:
		return f > procstat.ExitCode // added by a later kernel
	}
}

// field returns the text of a field.
func (l *statLine) field(f procstat.Field) []byte {
	place, from := f-procstat.State, 0
	if place > 0 {
		from = int(l.ends[place-1]) + 1
	}
	return l.rest[from:l.ends[place]]
}

// number returns a field; 0 if it does not fit.
func (l *statLine) number(f procstat.Field) int64 {
	n, _ := strconv.ParseInt(string(l.field(f)), 10, 64)
	return n
}

// pid returns a field that is the number of a process, which may be 0 or -1 for none; false if it
// is not such a number.
func (l *statLine) pid(f procstat.Field) (wire.PID, bool) {
	n, err := strconv.ParseInt(string(l.field(f)), 10, 64)
	return wire.PID(n), err == nil && n >= -1 && n <= math.MaxInt32
}

// edit is a new number for a field.
type edit struct {
	field procstat.Field
	n     int64
}

// with returns the line with new numbers, in the order of the fields; nil if nothing changes.
func (l *statLine) with(edits ...edit) []byte {
	var b []byte
	done := 0 // of rest
	for _, e := range edits {
		is := strconv.AppendInt(make([]byte, 0, maxField), e.n, 10)
		was := l.field(e.field)
		if bytes.Equal(is, was) {
			continue
		}
		if b == nil {
			b = make([]byte, 0, len(l.head)+1+len(l.rest)+len(edits)*maxField)
			b = append(append(b, l.head...), ' ')
		}
		end := int(l.ends[e.field-procstat.State])
		b = append(append(b, l.rest[done:end-len(was)]...), is...)
		done = end
	}
	if b == nil {
		return nil
	}
	return append(b, l.rest[done:]...)
}

package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"bproc/wire"
)

// Places of fields in /proc/PID/stat behind the name (proc_pid_stat(5) counts from 1,
// and the name is the second).
const (
	statState      = 0
	statParent     = 4 - 3
	statSession    = 6 - 3
	statTTY        = 7 - 3
	statForeground = 8 - 3 // tpgid
	statStart      = 22 - 3
	statFields     = 52 - 2 // that there are since Linux 3.5
)

// Bounds on what a kernel may have added.
const (
	maxFields = 100
	maxField  = 24  // bytes
	maxName   = 256 // bytes; a kernel's are 64 at most, before what is escaped
)

// errForm is the error for a text that is not of the form that the kernel gives it.
var errForm = errors.New("unexpected form")

// statLine is /proc/PID/stat in parts.
type statLine struct {
	head   []byte // number and name
	fields [][]byte
}

// parseStat takes apart the line of the thread or process with a number. The name may
// hold anything, so the end of it is found from the end of the line.
func parseStat(text []byte, pid wire.PID) (statLine, error) {
	end := bytes.LastIndexByte(text, ')')
	if !bytes.HasPrefix(text, fmt.Appendf(nil, "%d (", pid)) || end < 0 || !bytes.HasSuffix(text, []byte("\n")) {
		return statLine{}, fmt.Errorf("stat of %d: %w", pid, errForm)
	}
	if end > len(pid.String())+2+maxName || bytes.IndexByte(text[:end], 0) >= 0 {
		return statLine{}, fmt.Errorf("stat of %d, name: %w", pid, errForm)
	}
	line := statLine{head: text[:end+1], fields: make([][]byte, 0, statFields)}
	for field := range bytes.FieldsSeq(text[end+1:]) {
		if len(line.fields) == maxFields || !validField(len(line.fields), field) {
			return statLine{}, fmt.Errorf("stat of %d, field %d: %w", pid, len(line.fields)+3, errForm)
		}
		line.fields = append(line.fields, field)
	}
	if len(line.fields) < statFields {
		return statLine{}, fmt.Errorf("stat of %d: %d fields: %w", pid, len(line.fields), errForm)
	}
	return line, nil
}

func validField(place int, field []byte) bool {
	if place == statState {
		return len(field) == 1 && (field[0] >= 'A' && field[0] <= 'Z' || field[0] >= 'a' && field[0] <= 'z')
	}
	digits := bytes.TrimPrefix(field, []byte("-"))
	return len(digits) > 0 && len(field) <= maxField && len(bytes.TrimLeft(digits, "0123456789")) == 0
}

// number returns a field; 0 if it is none that fits.
func (l statLine) number(place int) int64 {
	n, _ := strconv.ParseInt(string(l.fields[place]), 10, 64)
	return n
}

// set puts a number into a field, and reports whether it was another one.
func (l statLine) set(place int, n int64) bool {
	is := strconv.AppendInt(nil, n, 10)
	was := l.fields[place]
	l.fields[place] = is
	return !bytes.Equal(is, was)
}

// text puts the line together again.
func (l statLine) text() []byte {
	size := len(l.head) + 1
	for _, f := range l.fields {
		size += 1 + len(f)
	}
	b := append(make([]byte, 0, size), l.head...)
	for _, f := range l.fields {
		b = append(append(b, ' '), f...)
	}
	return append(b, '\n')
}

// Package procstat reads files of procfs, mainly /proc/PID/stat as described in proc_pid_stat(5).
package procstat

import (
	"bytes"
	"strconv"
)

// Field is a field of a stat file, by its number in the manual page.
type Field int

// Fields in use.
const (
	State      Field = 3
	Parent     Field = 4
	Group      Field = 5
	Session    Field = 6
	TTY        Field = 7
	Foreground Field = 8  // process group of the terminal; tpgid in the manual
	Flags      Field = 9  // PF_* of linux/sched.h
	UserTime   Field = 14 // clock ticks
	SystemTime Field = 15
	Priority   Field = 18
	Nice       Field = 19
	Threads    Field = 20
	Start      Field = 22 // clock ticks since boot
	StartCode  Field = 26
	ExitSignal Field = 38
	ExitCode   Field = 52 // the last since Linux 3.5
)

// Flags of a task.
const (
	Exiting    = 0x4  // PF_EXITING: in exit(2)
	ForkNoExec = 0x40 // PF_FORKNOEXEC: has not executed a program since its fork
)

// Stat is the text of a stat file.
type Stat []byte

// Name returns the name of the program, which can contain any character, or false if the text has
// none.
func (s Stat) Name() ([]byte, bool) {
	from, to := bytes.IndexByte(s, '('), s.endOfName()
	if from < 0 || to < from {
		return nil, false
	}
	return s[from+1 : to], true
}

// Field returns the text of a field from State on, or nil if it is missing.
func (s Stat) Field(f Field) []byte {
	next := State
	for field := range bytes.FieldsSeq(s[s.endOfName()+1:]) {
		if next == f {
			return field
		}
		next++
	}
	return nil
}

// Int returns a field that can be negative, or false if it is not a number of 32 bits.
func (s Stat) Int(f Field) (int, bool) {
	n, err := strconv.ParseInt(string(s.Field(f)), 10, 32)
	return int(n), err == nil
}

// Uint returns a field that is never negative, or false if it is not a number of 64 bits.
func (s Stat) Uint(f Field) (uint64, bool) {
	n, err := strconv.ParseUint(string(s.Field(f)), 10, 64)
	return n, err == nil
}

// endOfName returns the index of the parenthesis after the name, or -1. It is the last one, since
// the name can contain others.
func (s Stat) endOfName() int { return bytes.LastIndexByte(s, ')') }

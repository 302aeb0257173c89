// Package mark defines how ghosts are recognized: every ghost that is or was held has a core filter
// (core(5)) that no other process has. Children inherit it, and execve(2) keeps it. With it, a core
// would contain only pages of persistent memory, and a ghost has none.
package mark

import (
	"bytes"
	"strconv"
)

// Values of the core filter.
const (
	Held   = 0x180
	HangUp = 0x080 // of a ghost that was adopted with HangUp
)

// File is the filter's file in /proc/PID. Any process may read it.
const File = "coredump_filter"

// Parse parses the text of the file.
func Parse(text []byte) (held, hangUp bool) {
	filter, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 16, 64)
	hangUp = err == nil && filter == HangUp
	return hangUp || err == nil && filter == Held, hangUp
}

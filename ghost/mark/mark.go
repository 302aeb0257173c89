// Package mark is by what ghosts are known: every ghost that is or was held has a core
// filter (core(5)) that no other process has. Children inherit it, and it stays when a
// program is executed. Only pages of persistent memory would be in a core, and a ghost has
// none.
package mark

import (
	"bytes"
	"strconv"
)

// Values of the filter.
const (
	Held   = 0x180
	HangUp = 0x080 // of one that was adopted with HangUp
)

// File is where the filter is, in /proc/PID. Everybody may read it.
const File = "coredump_filter"

// Parse returns what the text of the file says of a process.
func Parse(text []byte) (held, hangUp bool) {
	filter, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 16, 64)
	hangUp = err == nil && filter == HangUp
	return hangUp || err == nil && filter == Held, hangUp
}

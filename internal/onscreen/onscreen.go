// Package onscreen makes texts of others harmless to a terminal: nodes and hosts may send anything, and
// names of files and programs may contain anything.
package onscreen

import (
	"strings"
	"unicode"
)

// Line replaces all that is not printable, such as escape sequences and ends of lines.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// Text is Line for each line.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

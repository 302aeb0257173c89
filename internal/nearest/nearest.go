// Package nearest finds the word that was meant by one that is misspelt.
package nearest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// To returns the known word that is nearest to another one, or "" if none is near: up to three
// letters one may differ, up to eight two, else three. Of two that are as near, it is the first
// in the alphabet.
func To(word string, known []string) string {
	best, least := "", 4
	switch {
	case len(word) <= 3:
		least = 2
	case len(word) <= 8:
		least = 3
	}
	for _, k := range slices.Sorted(slices.Values(known)) {
		if len(word)/utf8.UTFMax-len(k) >= least {
			continue // it may be very long, and the distance takes time then
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(word), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// Slip returns the known word from which another one, of three letters or more, differs by one
// slip of the fingers: a letter too many, too few or wrong, or two in the wrong order; or "".
func Slip(word string, known []string) string {
	if len(word) < 3 || slices.Contains(known, word) {
		return ""
	}
	for _, k := range known {
		switch d := levenshtein.ComputeDistance(word, k); {
		case d == 1, d == 2 && letters(word) == letters(k):
			return k
		}
	}
	return ""
}

// letters returns the letters of a word in the order of the alphabet.
func letters(word string) string {
	b := []byte(word)
	slices.Sort(b)
	return string(b)
}

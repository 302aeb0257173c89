// Package nearest finds the known word that a misspelt word most likely means.
package nearest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// To returns the known word that is nearest to word, or "" if none is near. One letter may differ
// in words of up to three letters, two in words of up to eight, and three in longer ones. Of
// equally near words it returns the first in alphabetical order.
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
			continue // word may be very long, and computing the distance would take time
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(word), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// Slip returns the known word that differs by a single typing error from word, which must have
// three letters or more: a letter too many, too few or wrong, or two letters transposed. Otherwise
// it returns "".
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

// letters returns the letters of a word in alphabetical order.
func letters(word string) string {
	b := []byte(word)
	slices.Sort(b)
	return string(b)
}

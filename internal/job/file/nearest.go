package file

import "strings"

// nearest returns the name that s most likely misspells, or "" if none is similar.
func nearest(s string, names []string) string {
	best, found := 1+max(1, min(len(s), 40)/3), ""
	for _, name := range names {
		if d := distance(strings.ToLower(s), strings.ToLower(name)); d < best {
			best, found = d, name
		}
	}
	return found
}

// distance returns the number of insertions, deletions, substitutions and transpositions of letters
// that turn b into a. Texts that are too long are far from all others.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

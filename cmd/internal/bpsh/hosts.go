package bpsh

import (
	"fmt"
	"strconv"
	"strings"
)

// maxHosts bounds the number of names in a range.
const maxHosts = 1 << 16

// expandHosts expands Slurm's ranges of host names, such as n[0-3,7]. Elements that it does not
// understand stay as they are, so that the parser of node sets reports them.
func expandHosts(list string) string {
	var names []string
	for _, element := range splitHosts(list) {
		before, rest, ranged := strings.Cut(element, "[")
		inner, after, closed := strings.Cut(rest, "]")
		if !ranged || !closed {
			names = append(names, element)
			continue
		}
		for part := range strings.SplitSeq(inner, ",") {
			for _, number := range expandRange(part) {
				names = append(names, before+number+after)
			}
		}
	}
	return strings.Join(names, ",")
}

// splitHosts splits a list at the commas outside of brackets.
func splitHosts(list string) (elements []string) {
	begin, depth := 0, 0
	for i, c := range list {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				elements = append(elements, list[begin:i])
				begin = i + 1
			}
		}
	}
	return append(elements, list[begin:])
}

// expandRange returns the numbers of FIRST-LAST with as many digits as FIRST.
func expandRange(text string) []string {
	first, last, ranged := strings.Cut(text, "-")
	from, err := strconv.Atoi(first)
	to, lastErr := strconv.Atoi(last)
	if !ranged || err != nil || lastErr != nil || to < from || to-from >= maxHosts {
		return []string{text}
	}
	var numbers []string
	for n := from; n <= to; n++ {
		numbers = append(numbers, fmt.Sprintf("%0*d", len(first), n))
	}
	return numbers
}

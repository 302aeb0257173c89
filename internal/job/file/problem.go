package file

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is a fault of a file.
type Problem struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Key    string `json:"key,omitempty"` // processes[0].limits.memory
	Text   string `json:"text"`
}

func (p Problem) String() string {
	if p.Key == "" {
		return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Text)
	}
	return fmt.Sprintf("%d:%d: %s: %s", p.Line, p.Column, p.Key, p.Text)
}

// Error is all problems of a file, in line order.
type Error struct {
	Name     string // of the file
	Problems []Problem
}

// Error returns a line for each problem, in the form of compilers.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.Name + ":" + p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted returns problems in the order of the file. Problems of the same place stay in order.
func sorted(all []Problem) []Problem {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(all)
}

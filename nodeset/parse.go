package nodeset

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"bproc/wire"
)

// Set is a parsed node specification.
type Set struct {
	terms []term
}

// term is an element of the list.
type term interface {
	// pick appends the nodes that are meant.
	pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error)
	String() string
}

type (
	number wire.NodeID
	span   struct{ first, last wire.NodeID }
	all    struct{}
	word   string // a name, an address, or a state with what may stand before it
	negate string // !STATE
)

// open is the end of a range without one.
const open = math.MaxInt32

// frontEnd are the words for the front end.
var frontEnd = map[string]bool{"master": true, "self": true, "localhost": true, "-1": true, "n-1": true, ".-1": true}

// Parse parses a node specification.
func Parse(spec string) (Set, error) {
	var s Set
	for element := range strings.SplitSeq(spec, ",") {
		t, err := parse(element)
		if err != nil {
			return Set{}, fmt.Errorf("node specification %q: %w", spec, err)
		}
		s.terms = append(s.terms, t)
	}
	return s, nil
}

func parse(s string) (term, error) {
	switch {
	case s == "":
		return nil, fmt.Errorf("empty element")
	case frontEnd[s]:
		return number(wire.FrontEnd), nil
	case s == "all":
		return all{}, nil
	case s[0] == '!':
		if len(s) == 1 {
			return nil, fmt.Errorf("no state after !") //nolint:staticcheck // the ! is the operator, no punctuation
		}
		return negate(s[1:]), nil
	}
	if t, err := parseNumbers(s); t != nil || err != nil {
		return t, err
	}
	return word(s), nil
}

// parseNumbers parses a number or a range; nil is neither.
func parseNumbers(s string) (term, error) {
	low, high, isRange := strings.Cut(s, "-")
	if !isDigits(digits(low)) || isRange && high != "" && !isDigits(digits(high)) {
		return nil, nil
	}
	first, err := parseNumber(low)
	if err != nil {
		return nil, err
	}
	switch {
	case !isRange:
		return number(first), nil
	case high == "":
		return span{first, open}, nil
	}
	last, err := parseNumber(high)
	if err != nil {
		return nil, err
	}
	if last < first {
		return nil, fmt.Errorf("range %s ends before it begins", s)
	}
	return span{first, last}, nil
}

// digits returns s without what may stand before a number.
func digits(s string) string {
	if s != "" && (s[0] == 'n' || s[0] == '.') {
		return s[1:]
	}
	return s
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func parseNumber(s string) (wire.NodeID, error) {
	n, err := strconv.ParseInt(digits(s), 10, 32)
	if err != nil || n == open {
		return 0, fmt.Errorf("%s is no node number", s)
	}
	return wire.NodeID(n), nil
}

// String returns the specification in its shortest form.
func (s Set) String() string {
	var b strings.Builder
	for i, t := range s.terms {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(t.String())
	}
	return b.String()
}

func (n number) String() string { return wire.NodeID(n).String() }
func (all) String() string      { return "all" }
func (w word) String() string   { return string(w) }
func (n negate) String() string { return "!" + string(n) }

func (r span) String() string {
	if r.last == open {
		return r.first.String() + "-"
	}
	return r.first.String() + "-" + r.last.String()
}

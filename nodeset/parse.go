package nodeset

import (
	"errors"
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

// term is an element of the list, or a part of one.
type term interface {
	// pick appends the nodes that the term means.
	pick(ids []wire.NodeID, t Table) ([]wire.NodeID, error)
	String() string
}

type (
	number wire.NodeID
	span   struct{ first, last wire.NodeID }
	all    struct{}
	word   string // a name, an address, or a state with its possible prefix
	negate struct{ of term }
	both   struct{ terms []term } // nodes of the first term that all others mean, too
	group  struct{ set Set }
	random struct {
		count int
		of    term
	}
	tagged   string
	compared struct {
		name, op, value string
	}
)

// open is the end of a range that has none.
const open = math.MaxInt32

// maxDepth bounds the nesting of parentheses and !.
const maxDepth = 100

// frontEnd are the words for the front end.
var frontEnd = map[string]bool{"master": true, "self": true, "localhost": true, "-1": true, "n-1": true, ".-1": true}

// Parse parses a node specification.
func Parse(spec string) (Set, error) {
	p := parser{rest: spec}
	s, err := p.list()
	if err == nil && p.rest != "" { // list ends at the end, or at )
		err = errors.New("there is a ) without a (")
	}
	if err != nil {
		return Set{}, fmt.Errorf("node specification %q: %w", spec, err)
	}
	return s, nil
}

// parser reads a specification from left to right.
type parser struct {
	rest  string
	depth int
}

// next takes a character if it comes next.
func (p *parser) next(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// list reads elements up to the end, or to a ).
func (p *parser) list() (s Set, err error) {
	for {
		t, err := p.element()
		if err != nil {
			return s, err
		}
		if s.terms = append(s.terms, t); !p.next(',') {
			return s, nil
		}
	}
}

// element reads parts that are joined by &.
func (p *parser) element() (term, error) {
	first, err := p.part()
	if err != nil {
		return nil, err
	}
	terms := []term{first}
	for p.next('&') {
		t, err := p.part()
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
	}
	if len(terms) == 1 {
		return first, nil
	}
	return both{terms}, nil
}

func (p *parser) part() (t term, err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	defer func() { p.depth-- }()
	switch {
	case p.next('!'):
		if p.rest == "" || strings.IndexByte(",&)", p.rest[0]) >= 0 {
			return nil, fmt.Errorf("nothing after !") //nolint:staticcheck // the ! is the operator, no punctuation
		}
		t, err = p.part()
		return negate{t}, err
	case p.next('('):
		s, err := p.list()
		if err == nil && !p.next(')') {
			err = errors.New("a ) is missing")
		}
		return group{s}, err
	}
	if count, ok := strings.CutPrefix(p.rest, "random:"); ok {
		p.rest = count
		return p.random()
	}
	end := strings.IndexAny(p.rest, ",&)")
	if end < 0 {
		end = len(p.rest)
	}
	text := p.rest[:end]
	p.rest = p.rest[end:]
	return parse(text)
}

// random reads what follows "random:".
func (p *parser) random() (term, error) {
	count, rest, ok := strings.Cut(p.rest, "/")
	n, err := strconv.ParseInt(count, 10, 32)
	if !ok || err != nil || n < 1 || !isDigits(count) {
		return nil, fmt.Errorf("random:%s: a number and a slash are expected, as in random:3/up", count)
	}
	p.rest = rest
	t, err := p.element()
	return random{int(n), t}, err
}

// parse parses a part that has no parts of its own.
func parse(s string) (term, error) {
	switch {
	case s == "":
		return nil, errors.New("empty element")
	case strings.ContainsAny(s, "("):
		return nil, fmt.Errorf("a ( must begin a part, unlike that of %q", s)
	case frontEnd[s]:
		return number(wire.FrontEnd), nil
	case s == "all":
		return all{}, nil
	}
	if name, ok := strings.CutPrefix(s, "tag:"); ok {
		if !wire.IsLabelName(name) {
			return nil, fmt.Errorf("%q is no name of a tag", name)
		}
		return tagged(name), nil
	}
	if text, ok := strings.CutPrefix(s, "attr:"); ok {
		return parseAttribute(text)
	}
	if t, err := parseNumbers(s); t != nil || err != nil {
		return t, err
	}
	return word(s), nil
}

// parseAttribute parses a comparison.
func parseAttribute(s string) (term, error) {
	at := strings.IndexAny(s, "!<>=")
	if at < 0 {
		return nil, fmt.Errorf("attr:%s compares nothing; attr:%s=VALUE does, and tag:%s means the nodes that have it", s, s, s)
	}
	c := compared{name: s[:at]}
	for _, op := range []string{"!=", "<=", ">=", "==", "=", "<", ">"} {
		if value, ok := strings.CutPrefix(s[at:], op); ok {
			c.op, c.value = strings.Replace(op, "==", "=", 1), value
			break
		}
	}
	switch {
	case c.op == "":
		return nil, fmt.Errorf("attr:%s: there is no ! without =", s)
	case !wire.IsLabelName(c.name):
		return nil, fmt.Errorf("%q is no name of an attribute", c.name)
	case !wire.IsLabelValue(c.value):
		return nil, fmt.Errorf("attr:%s: %q is no value", s, c.value)
	case isCounted(c.name) && !isQuantity(c.value):
		return nil, fmt.Errorf("attr:%s: %q is no number, such as 4 or 64G", s, c.value)
	}
	return c, nil
}

// parseNumbers parses a number or a range; nil: it is neither.
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

// digits returns s without the prefix that a number may have.
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
func (s Set) String() string { return join(s.terms, ",") }

func join(terms []term, by string) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteString(by)
		}
		b.WriteString(t.String())
	}
	return b.String()
}

func (n number) String() string   { return wire.NodeID(n).String() }
func (all) String() string        { return "all" }
func (w word) String() string     { return string(w) }
func (n negate) String() string   { return "!" + n.of.String() }
func (b both) String() string     { return join(b.terms, "&") }
func (g group) String() string    { return "(" + g.set.String() + ")" }
func (r random) String() string   { return fmt.Sprintf("random:%d/%s", r.count, r.of) }
func (t tagged) String() string   { return "tag:" + string(t) }
func (c compared) String() string { return "attr:" + c.name + c.op + c.value }

func (r span) String() string {
	if r.last == open {
		return r.first.String() + "-"
	}
	return r.first.String() + "-" + r.last.String()
}

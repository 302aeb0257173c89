package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// value is a kind of value with its destination.
type value interface {
	// read reads a value that is not an alias, and reports its problems to r.
	read(r *reader, n *yaml.Node, at string)
	// schema returns the value's schema for editors.
	schema() schema
}

// key is a key of a mapping.
type key struct {
	name   string
	text   string // one-line description
	needed bool
	value  value
}

// object is a mapping with known keys. A key without a value counts as absent.
type object struct{ keys []key }

func (o object) read(r *reader, n *yaml.Node, at string) {
	if n.Kind != yaml.MappingNode {
		r.mustBe(n, at, "a mapping")
		return
	}
	entries := r.entries(n, at, 0)
	if r.left < 0 {
		return // entries are incomplete
	}
	for _, k := range o.keys {
		if k.needed && !slices.ContainsFunc(entries, func(e entry) bool { return e.name == k.name && !empty(e.value) }) {
			r.problem(n, at, "the key %s is missing", k.name)
		}
	}
	for _, e := range entries {
		i := slices.IndexFunc(o.keys, func(k key) bool { return k.name == e.name })
		switch {
		case i < 0:
			r.problem(e.key, join(at, e.name), "unknown key; %s", advice(e.name, o.keys))
		case empty(e.value):
		case r.spend(e.value, at):
			o.keys[i].value.read(r, e.value, join(at, e.name))
		}
	}
}

// advice suggests an alternative to an unknown key.
func advice(name string, keys []key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	slices.Sort(names)
	if at := elsewhere(name); at != "" {
		return "it belongs " + at
	}
	if near := nearest(name, names); near != "" {
		return "do you mean " + near + "?"
	}
	if len(names) == 1 {
		return "the only key here is " + names[0]
	}
	return "the keys here are " + list(names)
}

// list joins names, of which there is at least one, for a sentence.
func list(names []string) string {
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// sequence is a list of values of one kind.
type sequence[T any] struct {
	to    *[]T
	of    func(*T) value
	begin func(line int) T // makes an element before it is read; nil: zero
}

func (s sequence[T]) read(r *reader, n *yaml.Node, at string) {
	if n.Kind != yaml.SequenceNode {
		r.mustBe(n, at, "a list (lines that begin with -)")
		return
	}
	for i, c := range n.Content {
		place := fmt.Sprintf("%s[%d]", at, i)
		line := c.Line
		if c = target(c); !r.spend(c, place) {
			return
		}
		var element T
		if s.begin != nil {
			element = s.begin(line)
		}
		s.of(&element).read(r, c, place)
		*s.to = append(*s.to, element)
	}
}

// text is a text. Numbers and other scalars are taken as texts as they are written.
type text struct {
	to      *string
	check   func(r *reader, s string) error // nil: any text is valid
	pattern string                          // for the schema: matches every valid text
}

func (t text) read(r *reader, n *yaml.Node, at string) {
	s, ok := r.scalar(n, at, "a text")
	if !ok {
		return
	}
	if t.check != nil {
		if err := t.check(r, s); err != nil {
			r.problem(n, at, "%v", err)
			return
		}
	}
	*t.to = s
}

// pairs maps names to texts: environment variables.
type pairs struct{ to *map[string]string }

func (p pairs) read(r *reader, n *yaml.Node, at string) {
	if n.Kind == yaml.SequenceNode {
		r.problem(n, at, "must be a mapping of names to texts, not a list; write NAME: value in place of - NAME=value")
		return
	}
	if n.Kind != yaml.MappingNode {
		r.mustBe(n, at, "a mapping of names to texts")
		return
	}
	*p.to = map[string]string{}
	for _, e := range r.entries(n, at, 0) {
		if e.name == "" || strings.ContainsAny(e.name, "=\x00") {
			r.problem(e.key, join(at, e.name), "a variable has a name without = in it")
			continue
		}
		if s, ok := r.scalar(e.value, join(at, e.name), "a text"); ok && r.spend(e.value, at) {
			(*p.to)[e.name] = s
		}
	}
}

// flag is true or false. The words of YAML 1.1 are accepted.
type flag struct{ to *bool }

func (f flag) read(r *reader, n *yaml.Node, at string) {
	if n.Kind != yaml.ScalarNode || n.Decode(f.to) != nil {
		r.mustBe(n, at, "true or false")
	}
}

// count is an integer that is not negative.
type count struct {
	to    *uint64
	least uint64
}

func (c count) read(r *reader, n *yaml.Node, at string) {
	var i uint64
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&i) != nil || i < c.least {
		r.mustBe(n, at, fmt.Sprintf("a whole number from %d on", c.least))
		return
	}
	*c.to = i
}

// size is a number of bytes.
type size struct{ to *uint64 }

func (s size) read(r *reader, n *yaml.Node, at string) {
	if written, ok := r.scalar(n, at, sizeForm); ok {
		if *s.to, ok = sizeBytes(written); !ok {
			r.mustBe(n, at, sizeForm)
		}
	}
}

const sizeForm = "a size with a unit, such as 256M or 1.5G"

// duration is a time: a number of seconds, or in Go's notation.
type duration struct {
	to          *time.Duration
	least, most time.Duration
}

func (d duration) read(r *reader, n *yaml.Node, at string) {
	form := fmt.Sprintf("a time from %s to %s, such as 20 (seconds) or 1m30s", short(d.least), short(d.most))
	s, ok := r.scalar(n, at, form)
	if !ok {
		return
	}
	if tag := n.ShortTag(); tag == "!!int" || tag == "!!float" {
		s += "s"
	}
	t, err := time.ParseDuration(s)
	if err != nil || t < d.least || t > d.most {
		r.mustBe(n, at, form)
		return
	}
	*d.to = t
}

// short formats a time as people write it: 24h, not 24h0m0s.
func short(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}

// choice is one of several words.
type choice[T ~string] struct {
	to *T
	of []T
}

func (c choice[T]) names() (names []string) {
	for _, o := range c.of {
		names = append(names, string(o))
	}
	return names
}

func (c choice[T]) read(r *reader, n *yaml.Node, at string) {
	form := "one of " + list(c.names())
	s, ok := r.scalar(n, at, form)
	switch {
	case !ok:
	case slices.Contains(c.of, T(s)):
		*c.to = T(s)
	case nearest(s, c.names()) != "":
		r.problem(n, at, "%s is none of %s; do you mean %s?", quote(s), list(c.names()), nearest(s, c.names()))
	default:
		r.mustBe(n, at, form)
	}
}

// either is a mapping or a value of another kind.
type either struct {
	mapping object
	other   value
}

func (e either) read(r *reader, n *yaml.Node, at string) {
	if n.Kind == yaml.MappingNode {
		e.mapping.read(r, n, at)
		return
	}
	e.other.read(r, n, at)
}

// scalar returns a scalar value as it is written. An empty value is an empty text.
func (r *reader) scalar(n *yaml.Node, at, form string) (string, bool) {
	switch tag := n.ShortTag(); {
	case n.Kind != yaml.ScalarNode:
		r.mustBe(n, at, form)
	case tag == null:
		return "", true
	case !known[tag]:
		r.problem(n, at, "the tag %s is unknown; write a text that begins with ! in quotation marks", clip(n.Tag))
	case strings.ContainsRune(n.Value, 0):
		r.problem(n, at, "the text has a zero byte in it, which no program can be given")
	default:
		return n.Value, true
	}
	return "", false
}

// known are the tags of values that can be texts.
var known = map[string]bool{"!!str": true, "!!int": true, "!!float": true, "!!bool": true, "!!timestamp": true, "!!merge": true}

func (r *reader) mustBe(n *yaml.Node, at, form string) {
	if n.Kind == yaml.ScalarNode && !empty(n) && !known[n.ShortTag()] {
		r.scalar(n, at, form) // reports its unknown tag
		return
	}
	if at == "" {
		form = "the file must be " + form
	} else {
		form = "must be " + form
	}
	r.problem(n, at, "%s, not %s", form, describe(n))
}

// merged adds the entries of b to a and returns a. They have no common keys.
func merged(a, b schema) schema {
	maps.Copy(a, b)
	return a
}

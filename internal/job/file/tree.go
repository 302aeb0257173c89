package file

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxValues = 10_000 // of a file, with all aliases expanded
	maxMerges = 8      // nested merges
)

// null is the tag of an empty value.
const null = "!!null"

// target resolves an alias.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// empty reports whether a value is empty.
func empty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == null }

// entry is a key of a mapping with its value.
type entry struct {
	name       string
	key, value *yaml.Node
}

// entries returns the entries of a mapping. Merged entries (<<) come last, and only those whose
// keys the mapping does not have itself.
func (r *reader) entries(n *yaml.Node, at string, merges int) []entry {
	var own []entry
	var merged []*yaml.Node
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := target(n.Content[i]), target(n.Content[i+1])
		switch {
		case !r.spend(key, at):
			return own
		case key.Kind != yaml.ScalarNode:
			r.problem(key, at, "a key must be a text, not %s", describe(key))
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case lines[key.Value] > 0:
			r.problem(key, join(at, key.Value), "the key is here twice, first in line %d", lines[key.Value])
		default:
			lines[key.Value] = key.Line
			own = append(own, entry{key.Value, key, value})
		}
	}
	for _, m := range merged {
		for _, e := range r.merge(m, at, merges+1) {
			if lines[e.name] == 0 {
				lines[e.name] = e.key.Line
				own = append(own, e)
			}
		}
	}
	return own
}

// merge returns the entries of a merged value: a mapping, or a list of mappings.
func (r *reader) merge(n *yaml.Node, at string, merges int) (all []entry) {
	switch {
	case merges > maxMerges:
		r.problem(n, at, "mappings are merged more than %d deep", maxMerges)
	case n.Kind == yaml.MappingNode:
		return r.entries(n, at, merges)
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			if c = target(c); c.Kind == yaml.MappingNode && r.spend(c, at) {
				all = append(all, r.entries(c, at, merges)...)
			} else if c.Kind != yaml.MappingNode {
				r.problem(c, at, "<< must be followed by mappings, not %s", describe(c))
			}
		}
	default:
		r.problem(n, at, "<< must be followed by a mapping, not %s", describe(n))
	}
	return all
}

// join returns the path of a key in a mapping.
func join(at, name string) string {
	switch {
	case name == "":
		return at + `[""]`
	case at == "":
		return clip(name)
	}
	return at + "." + clip(name)
}

// describe describes a value in a few words.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case empty(n):
		return "empty"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "the number " + clip(n.Value)
	case "!!bool":
		return n.Value
	}
	return "the text " + quote(n.Value)
}

// longest is how many characters of a text from the file appear in an error.
const longest = 60

func shorten(s string) string {
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest]) + "..."
	}
	return s
}

// quote quotes a text from the file for an error.
func quote(s string) string { return strconv.Quote(shorten(s)) }

// clip returns a text from the file for an error, without quotation marks. It escapes unprintable
// characters, which could control the terminal.
func clip(s string) string {
	if s = shorten(s); strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		q := strconv.Quote(s)
		return q[1 : len(q)-1]
	}
	return s
}

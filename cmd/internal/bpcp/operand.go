package bpcp

import (
	"fmt"
	"regexp"
	"strings"
)

// operand is a source or the target: NODES:PATH, or PATH on the front end.
type operand struct {
	nodes string // node specification; empty means the front end
	path  string
	text  string // as it was typed
}

// here is the default path: the working directory.
const here = "."

// selectors are the words of node specifications that are followed by a colon.
var selectors = []string{"tag", "attr", "random"}

// choices matches the parts of a specification that contain a slash.
var choices = regexp.MustCompile(`random:[0-9]+/`)

// parseOperand parses an operand. As in scp(1), a colon with no slash before it ends the nodes. An
// address that contains colons is in brackets.
func parseOperand(text string) (operand, error) {
	if text == "" {
		return operand{}, fmt.Errorf("an operand is empty")
	}
	if inner, path, ok := strings.Cut(strings.TrimPrefix(text, "["), "]:"); ok && text[0] == '[' {
		return remote(inner, path, text)
	}
	for from := 0; ; {
		colon := strings.IndexByte(text[from:], ':')
		if colon < 0 {
			return operand{path: text, text: text}, nil
		}
		colon += from
		if strings.Contains(choices.ReplaceAllString(text[:colon], ""), "/") {
			return operand{path: text, text: text}, nil
		}
		if !selects(text[from:colon]) {
			return remote(text[:colon], text[colon+1:], text)
		}
		from = colon + 1
	}
}

// selects reports whether a part of a specification ends with a selector, whose value follows.
func selects(part string) bool {
	word := part[strings.LastIndexAny(part, ",!&(/ ")+1:]
	for _, s := range selectors {
		if word == s {
			return true
		}
	}
	return false
}

func remote(nodes, path, text string) (operand, error) {
	if nodes == "" {
		return operand{}, fmt.Errorf("%s: no nodes are named before the colon (./%s is a file)", text, text)
	}
	if path == "" {
		path = here
	}
	return operand{nodes: nodes, path: path, text: text}, nil
}

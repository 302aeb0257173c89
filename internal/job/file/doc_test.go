package file_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bproc/internal/job/file"
)

// node is the part of a JSON schema that this test needs.
type node struct {
	Properties map[string]node
	Items      *node
	AnyOf      []node
}

// paths returns all keys, as the documents name them.
func (n node) paths(at string) (all []string) {
	for name, p := range n.Properties {
		path := strings.TrimPrefix(at+"."+name, ".")
		if len(p.Properties) == 0 || len(p.AnyOf) > 0 {
			all = append(all, path)
		}
		all = append(all, p.paths(path)...)
	}
	if n.Items != nil {
		all = append(all, n.Items.paths(at+"[]")...)
	}
	for _, o := range n.AnyOf {
		all = append(all, o.paths(at)...)
	}
	return all
}

var documented = regexp.MustCompile("(?m)^\\| `([a-z_.\\[\\]]+)` ")

// TestReference checks that docs/jobs.md has a line for each key.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("../../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range documented.FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1])
	}
	var root node
	if err := json.Unmarshal(file.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	want := root.paths("")
	slices.Sort(got)
	slices.Sort(want)
	if len(want) < 30 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestExample checks that the example of docs/jobs.md is valid.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("../../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "\n\n    nodes:")
	example, _, _ = strings.Cut("nodes:"+example, "\n\n")
	if _, err := file.Read("example", []byte(strings.ReplaceAll(example, "\n    ", "\n")), file.Options{}); err != nil {
		t.Error(err)
	}
}

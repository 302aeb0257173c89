package master

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bproc/wire"
)

var nodesNow = time.Unix(1_000_000, 0)

func load(t *testing.T, path string, configured ...NodeConfig) *nodeTable {
	t.Helper()
	nodes, err := loadNodes(path, configured, nodesNow)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

func TestJoinGivesNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nodes.json")
	configured := []NodeConfig{{ID: 1, Name: "one"}, {ID: 5, Name: "five"}}
	nodes := load(t, path, configured...)
	for _, join := range []struct {
		key  string
		want wire.NodeID
		name string
		id   wire.NodeID // negative: refused
		as   string
	}{
		{"a", -1, "host a", 0, "host a"}, // the lowest free one
		{"b", -1, "five", 5, "five"},     // the configured one of that name
		{"c", -1, "host c", 2, "host c"}, // 1 is kept for the node called so
		{"d", 2, "host d", -1, ""},       // has joined
		{"e", 1, "host e", 1, "one"},     // keeps the configured name
		{"f", 9, "host f", 9, "host f"},  // asked for
		{"g", -1, "five", 3, "five"},     // its name is no right to another's number
	} {
		n, err := nodes.join(join.key, join.want, join.name, nodesNow)
		if join.id < 0 {
			if !errors.Is(err, errNodeTaken) {
				t.Errorf("%s: got %v, want %v", join.key, err, errNodeTaken)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", join.key, err)
		}
		if n.ID != join.id || n.Name != join.as || n.Mode != 0o111 || nodes.byKey[join.key] != n || nodes.byID[n.ID] != n {
			t.Errorf("%s: got %+v, want number %d, name %q", join.key, n, join.id, join.as)
		}
	}

	// Another master, with a configuration that has changed.
	configured[1].Name = "cinq"
	again := load(t, path, configured...)
	for _, n := range nodes.sorted() {
		got, want := again.byID[n.ID], *n
		if n.ID == 5 {
			want.Name = "cinq"
		}
		if got == nil || *got != want || again.byKey[n.Key] != got {
			t.Errorf("node %d: got %+v, want %+v", n.ID, got, want)
		}
	}
	if got, want := len(again.byID), len(nodes.byID); got != want {
		t.Errorf("got %d nodes, want %d", got, want)
	}
}

func TestNodesOfAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "nodes.json")
	for _, text := range []string{"", "{", "[{]", `{"ID": 1}`, `[{"ID": "one"}]`, "[1]", "[null]", `[{"ID": 1}, null]`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := loadNodes(path, nil, nodesNow)
		if err == nil || !strings.Contains(err.Error(), path+" is damaged") || !strings.Contains(err.Error(), "enrol the nodes again") {
			t.Errorf("%q: got %v, want what is damaged and what to do", text, err)
		}
	}
	if _, err := loadNodes(dir, nil, nodesNow); err == nil {
		t.Error("a directory is read")
	}
}

// TestSaveIsAtomic saves where no new file can take the old one's place.
func TestSaveIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "nodes.json")
	nodes := load(t, path)
	if _, err := nodes.join("a", -1, "a", nodesNow); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info.Mode(), err)
	}
	nodes.path = filepath.Join(dir, "nodes.json", "x") // a file is no directory
	if err := nodes.save(); err == nil {
		t.Error("saved in a file")
	}
	nodes.path = dir // rename(2): a directory that is not empty is not replaced
	if err := nodes.save(); err == nil {
		t.Error("saved over a directory")
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file has changed: got %q, %v, want %q", after, err, before)
	}
	for _, where := range []string{dir, filepath.Dir(dir)} {
		if left, _ := filepath.Glob(filepath.Join(where, ".nodes-*")); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// TestJoinIsUndone has nodes join where the table cannot be kept.
func TestJoinIsUndone(t *testing.T) {
	dir := t.TempDir()
	nodes := load(t, filepath.Join(dir, "nodes.json"), NodeConfig{ID: 1, Name: "one"})
	kept := nodes.path
	nodes.path = dir // rename(2): a directory that is not empty is not replaced
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []wire.NodeID{-1, 1} {
		if _, err := nodes.join("a", want, "a", nodesNow); err == nil {
			t.Errorf("node %d has joined", want)
		}
	}
	if len(nodes.byKey) != 0 || len(nodes.byID) != 1 || nodes.byID[1].Key != "" || nodes.byID[1].Name != "one" {
		t.Errorf("left behind: %+v, %+v", nodes.byKey, nodes.byID)
	}
	nodes.path = kept
	if n, err := nodes.join("a", 1, "a", nodesNow); err != nil || n.ID != 1 {
		t.Errorf("got %+v, %v, want node 1", n, err)
	}
}

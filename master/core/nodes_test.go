package core

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

var nodesNow = time.Unix(1_000_000, 0)

func load(t *testing.T, kept *memory, configured ...Named) *nodeTable {
	t.Helper()
	nodes, err := loadNodes(kept.records, configured, Rights{Mode: 0o111}, nodesNow)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// join has a machine join; away reports which nodes are away.
func (s *script) join(key string, want wire.NodeID, name string, away func(*node) bool) (*node, error) {
	s.sent = nil
	s.do(func() { s.core.joinLine(Join{Identity: key, Want: want, Name: name}, away) })
	return s.joinedAs()
}

func TestJoinGivesNumbers(t *testing.T) {
	configured := []Named{{ID: 1, Name: "one"}, {ID: 5, Name: "five"}}
	s := scriptWith(t, Config{Named: configured})
	kept, nodes := s.kept[Nodes], s.core.nodes
	for _, join := range []struct {
		key  string
		want wire.NodeID
		name string
		id   wire.NodeID // negative: refused
		as   string
	}{
		{"a", -1, "host a", 0, "host a"}, // the lowest free one
		{"b", -1, "five", 5, "five"},     // the configured one of that name
		{"c", -1, "host c", 2, "host c"}, // 1 is kept for the node of that name
		{"d", 2, "host d", -1, ""},       // it is there
		{"e", 1, "host e", 1, "one"},     // it keeps the configured name
		{"f", 9, "host f", 9, "host f"},  // asked for
		{"g", -1, "five", 3, "five"},     // its name gives it no right to another's number
	} {
		n, err := s.join(join.key, join.want, join.name, nobody)
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

	// Another master, with a changed configuration.
	configured[1].Name = "cinq"
	again := load(t, kept, configured...)
	for _, n := range nodes.sorted() {
		got, want := again.byID[n.ID], *n
		if n.ID == 5 {
			want.Name = "cinq"
		}
		if got == nil || !sameLine(got, &want) || again.byKey[n.Key] != got {
			t.Errorf("node %d: got %+v, want %+v", n.ID, got, want)
		}
	}
	if got, want := len(again.byID), len(nodes.byID); got != want {
		t.Errorf("got %d nodes, want %d", got, want)
	}
}

// sameLine reports whether two nodes agree in what is kept of them.
func sameLine(a, b *node) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Key == b.Key && a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID && a.Home == b.Home && a.Trust == b.Trust && a.Down == b.Down
}

// nobody reports that no node is away.
func nobody(*node) bool { return false }

// TestJoinAgain gives nodes that are away other identities.
func TestJoinAgain(t *testing.T) {
	s := scriptWith(t, Config{})
	kept, nodes := s.kept[Nodes], s.core.nodes
	for _, name := range []string{"a", "b", "b"} {
		key := fmt.Sprint("first ", name, len(nodes.byID))
		if _, err := s.join(key, -1, name, nobody); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes.byID {
		n.Trust = trustFull
	}
	away := func(n *node) bool { return n.ID != 1 }
	for _, join := range []struct {
		key    string
		want   wire.NodeID
		name   string
		id     wire.NodeID // negative: refused
		former string
	}{
		{"a again", -1, "a", 0, "first a0"},
		{"a, by its number", 0, "other", 0, "a again"},
		{"b again", -1, "b", 2, "first b2"}, // the one that is away
		{"b, by its number", 1, "b", -1, ""},
		{"c", -1, "c", 3, ""},
	} {
		former := ""
		if n := nodes.lineFor(Join{Want: join.want}, join.name, away); n != nil {
			former = n.Key
		}
		n, err := s.join(join.key, join.want, join.name, away)
		if join.id < 0 {
			if !errors.Is(err, errNodeTaken) {
				t.Errorf("%s: got %v, want %v", join.key, err, errNodeTaken)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", join.key, err)
		}
		if n.Trust != trustLimited {
			t.Errorf("%s: its trust is %s, that of the former machine", join.key, n.Trust)
		}
		if n.ID != join.id || former != join.former || nodes.byKey[join.key] != n || nodes.byKey[former] != nil {
			t.Errorf("%s: got %+v, in the place of %q, want number %d and %q", join.key, n, former, join.id, join.former)
		}
	}
	again := load(t, kept)
	if !maps.EqualFunc(again.byKey, nodes.byKey, func(a, b *node) bool { return a.ID == b.ID && a.Name == b.Name }) {
		t.Errorf("another master knows %v, want %v", again.byKey, nodes.byKey)
	}
	// A node that the store cannot keep does not change the table.
	kept.err = unix.ENOSPC
	if _, err := s.join("a once more", 0, "a", away); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v, want %v", err, unix.ENOSPC)
	}
	if n := nodes.byKey["a, by its number"]; n == nil || n.ID != 0 || n.Key != "a, by its number" || nodes.byKey["a once more"] != nil {
		t.Errorf("it is %+v; %v", n, nodes.byKey)
	}
}

func TestNodesThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"ID": "one"}`, "1"} {
		kept := &memory{records: map[string][]byte{"1": []byte(text)}}
		if _, err := loadNodes(kept.records, nil, Rights{}, nodesNow); err == nil || !strings.Contains(err.Error(), "node 1") {
			t.Errorf("%q: got %v, want which node", text, err)
		}
	}
}

// TestJoinIsUndone has nodes join while the table cannot be kept.
func TestJoinIsUndone(t *testing.T) {
	full := errors.New("the disk is full")
	s := scriptWith(t, Config{Named: []Named{{ID: 1, Name: "one"}}})
	kept, nodes := s.kept[Nodes], s.core.nodes
	kept.err = full
	usage := s.core.alloc.Usage()
	for _, want := range []wire.NodeID{-1, 1} {
		if _, err := s.join("a", want, "a", unconnected); !errors.Is(err, full) {
			t.Errorf("node %d: got %v, want %v", want, err, full)
		}
	}
	if len(nodes.byKey) != 0 || len(nodes.byID) != 1 || nodes.byID[1].Key != "" || nodes.byID[1].Name != "one" {
		t.Errorf("left behind: %+v, %+v", nodes.byKey, nodes.byID)
	}
	kept.err = nil
	if s.core.alloc.Usage() != usage {
		t.Error("numbers are left behind")
	}
	if n, err := s.join("a", 1, "a", unconnected); err != nil || n.ID != 1 {
		t.Errorf("got %+v, %v, want node 1", n, err)
	}
}

// TestSetIsKept changes a node, first when that can be kept and then when it cannot.
func TestSetIsKept(t *testing.T) {
	s := newScript(t)
	kept := s.kept[Nodes]
	if _, err := s.join("a", 1, "a", unconnected); err != nil {
		t.Fatal(err)
	}
	mode, down := uint32(0o100), string(stateDown)
	if errno := s.set(Caller{}, wire.SetNodes{Nodes: []wire.NodeID{1}, Mode: &mode, State: &down}); errno != 0 {
		t.Error(errno)
	}
	kept.err = unix.ENOSPC
	other, up := uint32(0o111), string(stateUp)
	if errno := s.set(Caller{}, wire.SetNodes{Nodes: []wire.NodeID{1}, Mode: &other, State: &up}); errno != unix.EIO {
		t.Errorf("got %v, want %v", errno, unix.EIO)
	}
	for when, n := range map[string]*node{"now": s.core.nodes.byID[1], "later": load(t, kept).byID[1]} {
		if n.Mode != mode || !n.Down || n.Key != "a" {
			t.Errorf("%s: got %+v, want mode %o, down", when, n, mode)
		}
	}
}

// TestTrustOfNodes checks that a node that joins has limited trust, even if it was configured, and
// keeps the trust that it is given. A node from a table without trust has full trust.
func TestTrustOfNodes(t *testing.T) {
	named := []Named{{ID: 2, Name: "configured"}}
	s := scriptWith(t, Config{Nodes: map[string][]byte{"1": []byte(`{"ID":1,"Name":"old","Key":"k1","Mode":73}`)}, Named: named})
	for _, name := range []string{"configured", "new"} {
		if _, err := s.join("key "+name, -1, name, unconnected); err != nil {
			t.Fatal(err)
		}
	}
	want := map[wire.NodeID]string{0: trustLimited, 1: trustFull, 2: trustLimited}
	for range 2 {
		for id, trust := range want {
			if got := s.core.nodes.byID[id].record().Trust; got != trust {
				t.Errorf("node %d has %s trust, want %s", id, got, trust)
			}
		}
		for id, trust := range map[wire.NodeID]string{0: trustFull, 1: trustLimited} {
			if errno := s.set(Caller{}, wire.SetNodes{Nodes: []wire.NodeID{id}, Trust: &trust}); errno != 0 {
				t.Fatal(errno)
			}
			want[id] = trust
		}
		s.begin(Config{Named: named})
	}
	if got := s.core.nodes.newNode(5); got.Trust != trustLimited {
		t.Errorf("a new node has trust %q", got.Trust)
	}
}

// TestDrainedIsNoState checks that nobody sets what a drained node shows, without draining it.
func TestDrainedIsNoState(t *testing.T) {
	s := newScript(t)
	if _, err := s.join("a", 1, "a", unconnected); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{shownDraining, shownDrained} {
		if errno := s.set(Caller{}, wire.SetNodes{Nodes: []wire.NodeID{1}, State: &state}); errno != unix.EINVAL {
			t.Errorf("%s: got %v, want %v", state, errno, unix.EINVAL)
		}
	}
}

// TestJoinWithName: the name of a token counts before the one that a node has, and that before the
// host's.
func TestJoinWithName(t *testing.T) {
	s := scriptWith(t, Config{})
	for _, join := range []struct{ key, name, host, as string }{
		{"a", "", "host", "host"},
		{"b", "db1", "host", "db1"},
		{"c", "", "other", "db1"},
		{"d", "db2", "other", "db2"},
	} {
		s.sent = nil
		s.do(func() {
			s.core.joinLine(Join{Identity: join.key, Want: 0, Name: join.name, Host: join.host}, func(*node) bool { return true })
		})
		if n, err := s.joinedAs(); err != nil || n.ID != 0 || n.Name != join.as {
			t.Errorf("%s: got %+v, %v, want name %q", join.key, n, err, join.as)
		}
	}
}

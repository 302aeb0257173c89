package core

import (
	"errors"
	"fmt"
	"testing"

	"bproc/wire"
)

// homes returns a script with the node table that was kept.
func homes(t *testing.T, kept *memory) *script {
	t.Helper()
	s := scriptWith(t, Config{Nodes: kept.records})
	s.kept[Nodes] = kept
	return s
}

// A node has its home for ever, and gets its first blocks there.
func TestHomeOutlivesTheMaster(t *testing.T) {
	kept := new(memory)
	s := homes(t, kept)
	given := map[wire.NodeID]wire.Block{}
	for _, key := range []string{"a", "b"} {
		n, err := s.joined(key, key, -1, "")
		if err != nil || n.Home.Count == 0 {
			t.Fatalf("node %+v, %v", n, err)
		}
		given[n.ID] = n.Home
	}
	s.begin(Config{})
	c := s.core
	for node, home := range given {
		b, err := c.alloc.Grant(node)
		if err != nil {
			t.Fatal(err)
		}
		if b.First < home.First || b.End() > home.End() {
			t.Errorf("node %d with home %v is lent %v", node, home, b)
		}
	}
	if n, err := s.joined("c", "c", -1, ""); err != nil || n.Home.Count == 0 || n.Home == given[0] || n.Home == given[1] {
		t.Errorf("a third one: node %+v, %v", n, err)
	}
}

// While nodes may still come back, no number is known to be free.
func TestNoHomeWhileGhostsAreFound(t *testing.T) {
	s := homes(t, new(memory))
	c := s.core
	c.orphans[70001] = new(orphan)
	if n, err := s.joined("a", "a", -1, ""); err != nil || n.Home.Count != 0 {
		t.Errorf("node %+v, %v", n, err)
	}
}

// A home that cannot be kept is not given.
func TestHomeThatIsNotKept(t *testing.T) {
	kept := new(memory)
	s := homes(t, kept)
	c := s.core
	if _, err := s.joined("a", "a", 0, ""); err != nil {
		t.Fatal(err)
	}
	usage := c.alloc.Usage()
	kept.err = errors.New("disk is full")
	if n, err := s.joined("b", "b", 1, ""); err == nil || n != nil || c.alloc.Usage() != usage {
		t.Errorf("node %+v, %v, %+v, was %+v", n, err, c.alloc.Usage(), usage)
	}
}

func TestHomesOfADamagedTable(t *testing.T) {
	kept := &memory{records: map[string][]byte{
		"0": []byte(`{"ID":0,"Key":"a","Home":{"First":1048576,"Count":32768}}`),
		"1": []byte(`{"ID":1,"Key":"b","Home":{"First":1048577,"Count":32768}}`),
	}}
	if _, err := New(Config{Nodes: kept.records}); err == nil {
		t.Error("two nodes have the same numbers at home")
	}
}

// TestHomeIsFoundAgain has machines join again and again: each keeps its number and its home.
func TestHomeIsFoundAgain(t *testing.T) {
	kept := new(memory)
	s := homes(t, kept)
	c := s.core
	c.settled = true
	first := map[string]node{}
	for i := range 200 {
		name := []string{"a", "b", "c"}[i%3]
		key := fmt.Sprint(name, i)
		n, err := s.joined(key, name, -1, "")
		if err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			first[name] = *n
		}
		if n.ID != first[name].ID || n.Home != first[name].Home || n.Home.Count == 0 || n.Key != key {
			t.Fatalf("join %d: got %+v, want what there was: %+v", i, n, first[name])
		}
	}
	if len(c.nodes.byID) != 3 || len(c.nodes.byKey) != 3 {
		t.Errorf("there are %d nodes with %d identities", len(c.nodes.byID), len(c.nodes.byKey))
	}
	s.begin(Config{})
	c = s.core
	for name, was := range first {
		if n := c.nodes.byID[was.ID]; n.Home != was.Home || n.Name != name {
			t.Errorf("with the next master %s is %+v, was %+v", name, n, was)
		}
	}
}

// TestHomeOfOneThatIsThere checks that by its name alone a machine does not take over a node that
// is, or may be, there.
func TestHomeOfOneThatIsThere(t *testing.T) {
	s := newScript(t)
	c := s.core
	join := func(key string, want wire.NodeID, name string) (wire.NodeID, error) {
		t.Helper()
		n, err := s.joined(key, "n", want, name)
		if err != nil {
			return -1, err
		}
		return n.ID, nil
	}
	if id, err := join("key 0", -1, ""); id != 0 || err != nil {
		t.Fatal(id, err)
	}
	if id, _ := join("since the master began", -1, ""); id != 1 {
		t.Errorf("node %d, want another: that may come yet", id)
	}
	s.input("up", []string{"s0", "0"})
	if id, _ := join("connected", -1, ""); id != 2 {
		t.Errorf("node %d, want another: that is there", id)
	}
	if id, err := join("with the number", 0, ""); !errors.Is(err, errNodeTaken) {
		t.Errorf("node %d, %v, want that it is there", id, err)
	}
	s.input("cut", []string{"s0"})
	if id, _ := join("cut", -1, ""); id != 3 {
		t.Errorf("node %d, want another: that may come back", id)
	}
	// With a name in the token the administrator has decided.
	if id, err := join("with the name", -1, "n"); id != 0 || err != nil {
		t.Errorf("node %d, %v, want the one with that name", id, err)
	}
	if c.nodes.byKey["key 0"] != nil || c.nodes.byID[0].sess != nil {
		t.Error("the former identity is good still")
	}
}

// TestHomesOfRevokedNodes checks that the home of a revoked node goes to another node only when
// there is no other home left.
func TestHomesOfRevokedNodes(t *testing.T) {
	s := homes(t, new(memory))
	c := s.core
	var last *node
	for i := 0; last == nil || last.Home.Count > 0; i++ {
		var err error
		if last, err = s.joined(fmt.Sprint("key ", i), fmt.Sprint("n", i), -1, ""); err != nil || i > 5000 {
			t.Fatal(i, err)
		}
	}
	revoked := c.nodes.byID[3]
	home := revoked.Home
	if errno := s.replied(Revoke{Node: 3}); errno != 0 {
		t.Fatal(errno)
	}
	if revoked.Home != home {
		t.Errorf("home %v, want %v: it may be enrolled again", revoked.Home, home)
	}
	n, err := s.joined("one more", "one more", -1, "")
	if err != nil || n.ID == 3 || n.Home != home || revoked.Home.Count != 0 {
		t.Errorf("node %+v, %v, want home %v; the revoked one is %+v", n, err, home, revoked)
	}
}

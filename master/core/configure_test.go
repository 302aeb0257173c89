package core

import (
	"testing"

	"bproc/wire"
)

// TestConfigure changes the configuration of a core that runs: nodes that are there stay, and so do
// their rights.
func TestConfigure(t *testing.T) {
	s := scriptWith(t, Config{Named: []Named{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}}})
	join := func(name, addr string, want wire.NodeID) *node {
		t.Helper()
		s.sent = nil
		s.step(Join{Identity: "key " + name + addr, Host: name, Addr: addr, Want: -1})
		n, err := s.joinedAs()
		if err != nil || n.ID != want {
			t.Fatalf("%s from %s: got %+v, %v, want node %d", name, addr, n, err, want)
		}
		return n
	}
	join("one", "10.0.0.1", 1)
	s.step(Configure{
		Named:  []Named{{ID: 3, Name: "three"}, {ID: 4, Addr: "10.0.0.4"}, {ID: 5, Name: "five", Addr: "10.0.0.5"}},
		Rights: Rights{Mode: 0o010, UID: 7, GID: 8}, Squash: 9, Ghosts: "/g", SetUp: true, PowerTime: 1,
	})
	if n := s.core.nodes.byID[1]; n == nil || n.Mode != 0o111 || n.Key == "" {
		t.Errorf("node 1 is %+v", n)
	}
	if n := s.core.nodes.byID[2]; n != nil {
		t.Errorf("node 2, which has never joined, is still there: %+v", n)
	}
	if got := s.core.config; got.Squash != 9 || got.Ghosts != "/g" || !got.SetUp || got.PowerTime != 1 {
		t.Errorf("got %+v", got)
	}
	for _, tt := range []struct {
		name, addr string
		want       wire.NodeID
	}{
		{"three", "10.0.0.9", 3},
		{"anything", "10.0.0.4", 4},
		{"other", "10.0.0.4", 0}, // node 4 is not surely away
		{"any", "10.0.0.5", 5},
		{"new", "10.0.0.10", 2},
	} {
		if n := join(tt.name, tt.addr, tt.want); n.Mode != 0o010 || n.UID != 7 || n.GID != 8 {
			t.Errorf("%s: it has mode %o, user %d, group %d", tt.name, n.Mode, n.UID, n.GID)
		}
	}
	if n := s.core.nodes.byID[4]; n.Name != "anything" {
		t.Errorf("node 4 has the name %q", n.Name)
	}
	// Nodes that have joined are there for good; another change of rights does not concern them.
	s.step(Configure{Rights: Rights{Mode: 0o111}, PowerTime: 1})
	if len(s.core.nodes.byID) != 6 || s.core.nodes.byID[3].Mode != 0o010 {
		t.Errorf("there are %d nodes, node 3 is %+v", len(s.core.nodes.byID), s.core.nodes.byID[3])
	}
}

// TestConfigureSetUp checks that nodes that are up when there is a script for the first time are
// not set up before their next boot.
func TestConfigureSetUp(t *testing.T) {
	s := newScript(t)
	s.inputs("node 0", "up s0 0 booted A")
	s.step(Configure{SetUp: true, PowerTime: DefaultPowerTime})
	s.inputs("end s0", "up s1 0 booted A")
	if n := s.core.nodes.byID[0]; n.state != stateUp {
		t.Errorf("it is %s, want up", n.state)
	}
	s.inputs("end s1", "up s2 0 booted B")
	if n := s.core.nodes.byID[0]; n.state != stateBoot {
		t.Errorf("booted anew, it is %s, want boot", n.state)
	}
}

// TestOneName checks that two machines with one name are two nodes, and that the log warns of it.
func TestOneName(t *testing.T) {
	s := newScript(t)
	for i, want := range []wire.NodeID{0, 1} {
		s.lines = nil
		n, err := s.joined("key "+want.String(), "twin", -1, "")
		if err != nil || n.ID != want {
			t.Fatalf("got %+v, %v, want node %d", n, err, want)
		}
		if i == 1 && (len(s.lines) != 1 || s.lines[0] != `log level=WARN msg="two machines have one name; commands need their numbers" node=1 other=0 name=twin`) {
			t.Errorf("the log says %q", s.lines)
		}
	}
}

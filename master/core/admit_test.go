package core

import (
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestAdmit checks which identities may connect.
func TestAdmit(t *testing.T) {
	s := newScript(t)
	s.inputs("node 0", "node 1", "node 2", "set 1 by 0/0 state down", "revoke 2")
	for key, want := range map[string]Admission{"key 0": Admitted, "key 1": SetDown, "key 2": Unknown, "another": Unknown, "": Unknown} {
		if got := s.core.Admit(key); got != want {
			t.Errorf("%q: got %v, want %v", key, got, want)
		}
	}
}

// TestRevokeIsKept revokes a node, first when that cannot be kept and then when it can.
func TestRevokeIsKept(t *testing.T) {
	s := newScript(t)
	if _, err := s.joined("key 0", "n0", -1, ""); err != nil {
		t.Fatal(err)
	}
	s.inputs("up s0 0")
	home := s.core.nodes.byID[0].Home
	s.core.nodes.byID[0].Trust = trustFull
	kept := s.kept[Nodes]
	kept.err = unix.ENOSPC
	if errno := s.replied(Revoke{Node: 0}); errno != unix.EIO {
		t.Errorf("got %v, want EIO", errno)
	}
	if n := s.core.nodes.byKey["key 0"]; n == nil || n.sess == nil || n.Key != "key 0" || n.Trust != trustFull {
		t.Errorf("it is %+v, want as before", n)
	}
	kept.err = nil
	if errno := s.replied(Revoke{Node: 0}); errno != 0 {
		t.Errorf("got %v", errno)
	}
	for when, nodes := range map[string]*nodeTable{"now": s.core.nodes, "later": load(t, kept)} {
		if n := nodes.byID[0]; n.Key != "" || len(nodes.byKey) != 0 || n.Name != "n0" || n.Home != home || n.sess != nil || n.Trust != trustLimited {
			t.Errorf("%s: got %+v, %v", when, n, nodes.byKey)
		}
	}
	n, err := s.joined("key 1", "n0", -1, "")
	if err != nil || n.ID != 0 || n.Home != home {
		t.Errorf("enrolled again: got %+v, %v, want number 0 and home %v", n, err, home)
	}
	if s.core.Admit("key 0") == Admitted || s.core.Admit("key 1") != Admitted {
		t.Error("the wrong identity is admitted")
	}
}

// TestSetDownEndsViews checks that looks from a node end at once when it is set down.
func TestSetDownEndsViews(t *testing.T) {
	s := newScript(t)
	s.inputs("node 0", "up s0 0")
	down, shut := string(stateDown), false
	errno := s.set(Caller{}, wire.SetNodes{Nodes: []wire.NodeID{0}, State: &down})
	for _, o := range s.sent {
		if o, ok := o.(StopViews); ok {
			shut = o.Session == s.session("s0").id
		}
	}
	if errno != 0 || !shut || !s.core.IsDown(s.session("s0").id) {
		t.Errorf("got %v; shut: %t", errno, shut)
	}
}

package master

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/link"
)

// TestAdmit: who may connect.
func TestAdmit(t *testing.T) {
	s := newScript(t)
	for _, id := range []string{"0", "1", "2"} {
		s.input("node", []string{id})
	}
	s.input("set", []string{"1", "by", "0/0", "state", "down"})
	s.input("revoke", []string{"2"})
	for key, want := range map[string]*link.RefusedError{
		"key 0":   nil,
		"key 1":   {Reason: errDown.Error(), Later: true},
		"key 2":   {Reason: errUnknownNode.Error(), Rejoin: true},
		"another": {Reason: errUnknownNode.Error(), Rejoin: true},
		"":        {Reason: errUnknownNode.Error(), Rejoin: true},
	} {
		var got *link.RefusedError
		if err := s.core.admit(key); err != nil && !errors.As(err, &got) || (got == nil) != (want == nil) || want != nil && *got != *want {
			t.Errorf("%q: got %v, want %v", key, err, want)
		}
	}
}

// TestRevokeIsKept revokes a node, where that can be kept and where not.
func TestRevokeIsKept(t *testing.T) {
	s := newScript(t)
	kept := new(memory)
	s.core.nodes = load(t, kept)
	if _, err := s.core.joined("key 0", "n0", -1, "", nodesNow); err != nil {
		t.Fatal(err)
	}
	s.input("up", []string{"s0", "0"})
	home := s.core.nodes.byID[0].Home
	s.core.nodes.byID[0].Trust = trustFull
	kept.err = unix.ENOSPC
	if failed := s.core.revoke(0, nodesNow); failed == nil || failed.Errno != uint32(unix.EIO) {
		t.Errorf("got %+v, want EIO", failed)
	}
	if n := s.core.nodes.byKey["key 0"]; n == nil || n.sess == nil || n.Key != "key 0" || n.Trust != trustFull {
		t.Errorf("it is %+v, want as before", n)
	}
	kept.err = nil
	if failed := s.core.revoke(0, nodesNow); failed != nil {
		t.Errorf("got %+v", failed)
	}
	for when, nodes := range map[string]*nodeTable{"now": s.core.nodes, "later": load(t, kept)} {
		if n := nodes.byID[0]; n.Key != "" || len(nodes.byKey) != 0 || n.Name != "n0" || n.Home != home || n.sess != nil || n.Trust != trustLimited {
			t.Errorf("%s: got %+v, %v", when, n, nodes.byKey)
		}
	}
	n, err := s.core.joined("key 1", "n0", -1, "", nodesNow)
	if err != nil || n.ID != 0 || n.Home != home {
		t.Errorf("enrolled again: got %+v, %v, want number 0 and home %v", n, err, home)
	}
	if s.core.admit("key 0") == nil || s.core.admit("key 1") != nil {
		t.Error("the wrong identity is admitted")
	}
}

// TestSetDownEndsViews: who looks from there is cut off at once.
func TestSetDownEndsViews(t *testing.T) {
	s := newScript(t)
	s.input("node", []string{"0"})
	s.input("up", []string{"s0", "0"})
	shut := false
	s.session("s0").shutViews = func() { shut = true }
	down := stateDown
	if errno := s.core.setNode(caller{}, &wire.SetNode{Node: 0, State: &down}, s.now); errno != 0 || !shut {
		t.Errorf("got %v; shut: %t", errno, shut)
	}
}

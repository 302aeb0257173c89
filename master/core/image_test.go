package core

import (
	"errors"
	"testing"

	"bproc/wire"
)

// TestSameName checks that machines with one image, and so one name, that join at the same moment
// are different nodes. A machine that asks again from the same address is the same node.
func TestSameName(t *testing.T) {
	s := newScript(t)
	s.core.settled = true
	join := func(key, addr string, again ...wire.NodeID) (wire.NodeID, error) {
		s.sent = nil
		s.step(Join{Identity: key, Host: "image", Want: -1, Addr: addr, Again: again})
		n, err := s.joinedAs()
		if err != nil {
			return -1, err
		}
		return n.ID, nil
	}
	for i, from := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.3"} {
		if got, err := join(from+" "+string(rune('a'+i)), from); err != nil || got != []wire.NodeID{0, 1, 1, 2}[i] {
			t.Errorf("from %s: node %d, %v", from, got, err)
		}
	}
	// With a token that is used up, a machine can only become a node that has joined with it and
	// was not revoked since.
	s.now = s.now.Add(s.core.config.Lease + 2*LeaseMargin)
	if got, err := join("again", "10.0.0.9", 0, 1); err != nil || got != 0 {
		t.Errorf("node %d, %v", got, err)
	}
	if got, err := join("not again", "10.0.0.9", 7); !errors.Is(err, ErrNotAgain) {
		t.Errorf("node %d, %v", got, err)
	}
	s.step(Revoke{Node: 0})
	if got, err := join("revoked", "10.0.0.9", 0); !errors.Is(err, ErrNotAgain) {
		t.Errorf("node %d, %v", got, err)
	}
}

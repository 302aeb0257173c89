package link_test

import (
	"errors"
	"testing"

	"bproc/wire"
	"bproc/wire/link"
)

// TestBypassOfRefusedNode has a node connect for a bypass after it has been revoked: it gets no client.
func TestBypassOfRefusedNode(t *testing.T) {
	m := newMaster(t, func(c *link.ListenConfig) {
		c.Admit = func(link.Peer) error { return &link.RefusedError{Reason: "it was revoked"} }
		c.Bypass = func(string, []byte) func(link.BypassEnd) {
			t.Error("the token is taken")
			return nil
		}
	})
	_, err := link.DialBypass(t.Context(), m.addr(), m.identity(), make([]byte, wire.BypassToken))
	if refused := (*link.RefusedError)(nil); !errors.As(err, &refused) || refused.Reason != "it was revoked" {
		t.Errorf("got %v", err)
	}
}

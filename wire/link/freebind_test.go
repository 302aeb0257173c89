package link_test

import (
	"testing"

	"bproc/wire/link"
)

// TestAddressToCome listens on addresses that no machine has (RFC 5737, RFC 3849), and logs that.
func TestAddressToCome(t *testing.T) {
	for _, addr := range []string{"192.0.2.1:0", "[2001:db8::1]:0"} {
		t.Run(addr, func(t *testing.T) {
			m := newMaster(t, func(cfg *link.ListenConfig) { cfg.Addr = addr })
			if said := m.log.with("does not have the address yet"); len(said) != 1 {
				t.Errorf("it has logged %q", said)
			}
		})
	}
}

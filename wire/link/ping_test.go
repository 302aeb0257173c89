package link_test

import (
	"errors"
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire/link"
)

// TestPing has each side send a ping of yamux, which the other refuses.
func TestPing(t *testing.T) {
	for _, name := range []string{"slave", "master"} {
		t.Run(name, func(t *testing.T) {
			m := newMaster(t, nil)
			slave, here := m.pair(m.addr())
			from, to := slave, here
			if name == "master" {
				from, to = here, slave
			}
			at, other := streams(t, slave, here)
			exchange(t, at, other, "works")
			from.Ping()
			select {
			case <-to.Done():
			case <-time.After(limit.Scaled(20 * time.Second)):
				t.Fatal("the session goes on")
			}
			if err := to.Err(); !errors.Is(err, link.ErrProtocol) {
				t.Errorf("the session has ended: %v", err)
			}
		})
	}
}

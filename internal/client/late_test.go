package client_test

import (
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/fakemaster"
	"bproc/wire"
)

// TestGhostIsLate refuses ghosts that are not there in time, as on a machine with too much to do: the
// command starts with another.
func TestGhostIsLate(t *testing.T) {
	var ghosts atomic.Int32
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		if ghosts.Add(1) < 3 {
			c.Fail(wire.StageGhost, uint32(unix.EAGAIN), "", 0)
			return
		}
		exits(wire.ExitStatus(7))(c, m)
	})
	if got, err := run(t.Context(), m.Client.Command(2, "prog")); got != wire.ExitStatus(7) || err != nil {
		t.Errorf("got %#x, %v", got, err)
	}
	if n := ghosts.Load(); n < 3 {
		t.Errorf("%d ghosts", n)
	}
}

package master

import (
	"errors"
	"os"
	"testing"

	"bproc/master/core"
	"bproc/wire"
)

// TestGroupOfNested has a caller whose ghost has another group than the caller had when it
// connected, as after the start of a set-group-ID program.
func TestGroupOfNested(t *testing.T) {
	const connected = 12345
	group := uint32(os.Getegid())
	for _, test := range []struct {
		gid  uint32
		want error
	}{
		{group, nil},
		{group + connected, errGroupChanged},
	} {
		c := &clientConn{from: new(slaveConn), who: core.Caller{PID: wire.PID(os.Getpid()), GID: test.gid}}
		if err := c.identify(t.Context()); !errors.Is(err, test.want) {
			t.Errorf("group %d, connected as %d: got %v, want %v", group, test.gid, err, test.want)
		}
		if test.want != nil && c.who.GID != test.gid {
			t.Errorf("the caller is %+v", c.who)
		}
	}
}

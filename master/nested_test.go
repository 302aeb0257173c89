package master

import (
	"errors"
	"os"
	"testing"

	"bproc/master/core"
	"bproc/pidmap"
	"bproc/wire"
)

// TestNestedOfChanged has a caller whose ghost has another user or group than the caller had when it
// connected, as after the start of a set-user-ID or set-group-ID program.
func TestNestedOfChanged(t *testing.T) {
	cluster, err := core.New(core.Config{Numbers: pidmap.Config{Numbers: pidmap.MinNumbers, Nodes: 1}})
	if err != nil {
		t.Fatal(err)
	}
	m := &Master{state: &state{core: cluster}}
	const connected = 12345
	user, group := uint32(os.Geteuid()), uint32(os.Getegid())
	for _, test := range []struct {
		uid, gid uint32
		want     error
	}{
		{user, group, nil},
		{user, group + connected, errChanged},
		{user + connected, group, errChanged},
	} {
		c := &clientConn{m: m, from: new(slaveConn), who: core.Caller{PID: wire.PID(os.Getpid()), UID: test.uid, GID: test.gid}}
		before := c.who
		if err := c.identify(t.Context()); !errors.Is(err, test.want) {
			t.Errorf("user %d and group %d, connected as %d and %d: got %v, want %v", user, group, test.uid, test.gid, err, test.want)
		}
		if test.want != nil && (c.who.UID != before.UID || c.who.GID != before.GID) {
			t.Errorf("the caller is %+v", c.who)
		}
	}
}

// TestGhostWithTwoUsers has a ghost that is a copy of one of a set-user-ID program.
func TestGhostWithTwoUsers(t *testing.T) {
	const rest = "\nGid:\t7\t7\t7\t7\nGroups:\t7\nUmask:\t0022\nCapBnd:\t0000000000000000\n"
	for users, want := range map[string]error{
		"1000\t1000\t1000\t1000": nil,
		"1000\t0\t0\t0":          errOther,
		"1000\t1000\t0\t1000":    errOther,
		"0\t0\t0\t0":             errOther,
	} {
		spawn := wire.Spawn{Parent: 4711, UID: 1000}
		if err := inheritStatus(&spawn, []byte("Name:\tghost\nPPid:\t4711\nUid:\t"+users+rest)); !errors.Is(err, want) {
			t.Errorf("users %q: got %v, want %v", users, err, want)
		}
	}
}

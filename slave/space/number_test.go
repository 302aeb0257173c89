package space_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNumber looks a process up that has connected with other identities than it has.
func TestNumber(t *testing.T) {
	n := newNode(t)
	const uid, gid = 1234, 1235
	sp := command(70001, "sleep", "1000")
	sp.UID, sp.GID = uid, gid
	n.mustLaunch(sp)
	host := int32(n.hostPID(70001))
	for _, test := range []struct {
		peer unix.Ucred
		want error
	}{
		{unix.Ucred{Pid: host, Uid: uid, Gid: gid}, nil},
		{unix.Ucred{Pid: host, Uid: uid, Gid: gid + 1}, unix.ESRCH}, // it has executed a set-group-ID program since
		{unix.Ucred{Pid: host, Uid: uid + 1, Gid: gid}, unix.ESRCH},
		{unix.Ucred{Pid: int32(unix.Getpid()), Uid: uint32(unix.Geteuid()), Gid: uint32(unix.Getegid())}, unix.ESRCH}, // not in the space
	} {
		got, err := n.Number(test.peer)
		if !errors.Is(err, test.want) || (err == nil) != (got == 70001) {
			t.Errorf("%+v: got %d, %v, want %v", test.peer, got, err, test.want)
		}
	}
}

package master

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"bproc/internal/peer"
	"bproc/wire"
)

// caller is who is at the other end of a client's connection, as the kernel
// knows it (unix(7): SO_PEERCRED, SO_PEERGROUPS).
type caller struct {
	pid    wire.PID
	uid    uint32
	gid    uint32
	groups []uint32
}

func peerOf(conn *net.UnixConn) (caller, error) {
	cred, err := peer.Of(conn)
	if err != nil {
		return caller{}, fmt.Errorf("credentials of a client: %w", err)
	}
	who := caller{pid: wire.PID(cred.Pid), uid: cred.Uid, gid: cred.Gid}
	raw, err := conn.SyscallConn()
	if err != nil {
		return caller{}, err
	}
	var opErr error
	err = raw.Control(func(fd uintptr) { who.groups, opErr = peerGroups(int(fd)) })
	if err := errors.Join(err, opErr); err != nil {
		return caller{}, fmt.Errorf("credentials of a client: %w", err)
	}
	return who, nil
}

// mayUse reports whether the caller may start processes on a node: the execute
// bits of its mode, read as those of a file are.
func (who caller) mayUse(n *node) bool {
	switch {
	case who.uid == 0:
		return true
	case who.uid == n.UID:
		return n.Mode&0o100 != 0
	case who.inGroup(n.GID):
		return n.Mode&0o010 != 0
	}
	return n.Mode&0o001 != 0
}

func (who caller) inGroup(gid uint32) bool {
	return who.gid == gid || slices.Contains(who.groups, gid)
}

// maySet reports whether the caller may make a change to a node: root any, the
// owner of the node its mode and, among the owner's own groups, its group.
func (who caller) maySet(n *node, m *wire.SetNode) bool {
	if who.uid == 0 {
		return true
	}
	return who.uid == n.UID && m.UID == nil && m.State == nil && m.Trust == nil && (m.GID == nil || who.inGroup(*m.GID))
}

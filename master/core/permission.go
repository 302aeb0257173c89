package core

import (
	"slices"

	"bproc/wire"
)

// Caller is the process at the other end of a client's connection, as the kernel knows it (unix(7):
// SO_PEERCRED, SO_PEERGROUPS).
type Caller struct {
	PID    wire.PID
	UID    uint32
	GID    uint32
	Groups []uint32
}

// mayUse reports whether the caller may start processes on a node. The execute bits of its mode are
// read as those of a file.
func (who Caller) mayUse(n *node) bool {
	switch {
	case who.UID == 0:
		return true
	case who.UID == n.UID:
		return n.Mode&0o100 != 0
	case who.inGroup(n.GID):
		return n.Mode&0o010 != 0
	}
	return n.Mode&0o001 != 0
}

func (who Caller) inGroup(gid uint32) bool {
	return who.GID == gid || slices.Contains(who.Groups, gid)
}

// maySet reports whether the caller may make a change to a node. Root may make any. The owner may
// change the mode, and the group to one of the owner's own groups.
func (who Caller) maySet(n *node, m *wire.SetNodes) bool {
	if who.UID == 0 {
		return true
	}
	return who.UID == n.UID && m.UID == nil && m.State == nil && m.Trust == nil && m.Drain == nil && len(m.Set) == 0 && len(m.Remove) == 0 && (m.GID == nil || who.inGroup(*m.GID))
}

package ghost

import (
	"bproc/internal/procstat"
	"bproc/pidmap"
	"bproc/wire"
)

// remoteGroup reports whether one process space holds everything that decides whether a ghost's
// group is orphaned, so that its kernel knows it: a ghost leads, or has led, the session, or the
// group was made on a node.
func (s *shard) remoteGroup(pid wire.PID) bool {
	text, err := readProc(pid, "stat")
	if err != nil {
		return false // it was killed meanwhile
	}
	stat := procstat.Stat(text)
	session, ok := stat.Int(procstat.Session)
	if ok && (session >= int(pidmap.Node) || s.owners.shardOf(wire.PID(session)) != nil) {
		return true
	}
	group, ok := stat.Int(procstat.Group)
	return ok && group >= int(pidmap.Node)
}

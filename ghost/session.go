package ghost

import (
	"bproc/internal/procstat"
	"bproc/pidmap"
	"bproc/wire"
)

// remoteSession reports whether a ghost leads, or has led, a ghost's session: then all of
// that session is in one process space, whose kernel knows of it what there is to know.
func (s *shard) remoteSession(pid wire.PID) bool {
	text, err := readProc(pid, "stat")
	if err != nil {
		return false // killed meanwhile
	}
	session, ok := procstat.Stat(text).Int(procstat.Session)
	return ok && (session >= int(pidmap.Node) || s.owners.shardOf(wire.PID(session)) != nil)
}

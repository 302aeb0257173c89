package ghost

import (
	"bytes"
	"strconv"

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
	// proc_pid_stat(5): after the name, in parentheses, state, parent, group and session.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 4 {
		return false
	}
	session, err := strconv.Atoi(string(fields[3]))
	return err == nil && (session >= int(pidmap.Node) || s.owners.shardOf(wire.PID(session)) != nil)
}

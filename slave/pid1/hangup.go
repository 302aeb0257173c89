package pid1

import (
	"os"
	"strconv"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// beginHangUp starts to hang a session up.
func (in *Init) beginHangUp(g *errgroup.Group, m *wire.InitHangUp) {
	if m.SID <= initPID {
		in.cfg.Log.Warn("malformed session", "sid", m.SID)
		return
	}
	g.Go(func() error {
		in.hangUp(m.SID)
		return nil
	})
}

// hangUp sends SIGHUP, and SIGCONT to those that are stopped, to all processes of a
// session, as the kernel does for a group when its terminal hangs up. It looks again
// until it finds nobody new: who is told may be about to fork.
func (in *Init) hangUp(sid wire.PID) {
	told := map[wire.PID]bool{}
	for found := true; found; {
		pids, err := processes()
		if err != nil {
			in.cfg.Log.Warn("cannot hang up a session", "sid", sid, "err", err)
			return
		}
		found = false
		for _, pid := range pids {
			if told[pid] || in.standins.at(pid) != nil || !inSession(pid, sid) {
				continue
			}
			told[pid], found = true, true
			in.logSignal(pid, in.kill(int(pid), unix.SIGHUP))
			in.logSignal(pid, in.kill(int(pid), unix.SIGCONT))
		}
	}
}

func inSession(pid, sid wire.PID) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/stat")
	if err != nil {
		return false // ended meanwhile
	}
	f, ok := parseStat(stat)
	return ok && f.sid == sid
}

package pid1

import (
	"os"
	"strconv"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// beginHangUp starts to hang up a session.
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

// hangUp sends SIGHUP and SIGCONT to all processes of a session, as the kernel does for a group
// when its terminal hangs up.
func (in *Init) hangUp(sid wire.PID) {
	err := eachOnce(processes, func(pid wire.PID) bool {
		if in.standins.at(pid) != nil || !inSession(pid, sid) {
			return false
		}
		in.logSignal(pid, in.kill(int(pid), unix.SIGHUP))
		in.logSignal(pid, in.kill(int(pid), unix.SIGCONT))
		return true
	})
	if err != nil {
		in.cfg.Log.Warn("cannot hang up a session", "sid", sid, "err", err)
	}
}

// looks bounds how often eachOnce looks: processes that ignore SIGHUP may fork forever.
const looks = 10

// eachOnce calls tell for each process that look finds, and not again once tell has returned
// true. A process may fork before it is told, so eachOnce looks again until tell returns
// false for all others.
func eachOnce(look func() ([]wire.PID, error), tell func(wire.PID) bool) error {
	told := map[wire.PID]bool{}
	for range looks {
		pids, err := look()
		if err != nil {
			return err
		}
		before := len(told)
		for _, pid := range pids {
			if !told[pid] && tell(pid) {
				told[pid] = true
			}
		}
		if len(told) == before {
			break
		}
	}
	return nil
}

func inSession(pid, sid wire.PID) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/stat")
	if err != nil {
		return false // ended meanwhile
	}
	f, ok := parseStat(stat)
	return ok && f.sid == sid
}

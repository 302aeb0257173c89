package pid1

import (
	"errors"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// place is the session and the process group in which a process begins.
type place struct {
	sid  wire.PID // initSession is init's, in which a child of init begins
	pgid wire.PID // 0: the group of its parent, which is a leader or init
	own  bool     // leads a group of its own
	new  bool     // leads a session of its own
}

// alone is the place of a process that has no place on the front end, or whose place cannot be
// made: a group of its own in init's session.
var alone = place{sid: initSession, own: true}

func placeOf(sp *wire.Spawn) place {
	switch {
	case sp.SID <= 0 || sp.PGID <= 0:
		return alone
	case sp.SID == sp.PID:
		return place{sid: initSession, new: true}
	case sp.PGID == sp.PID:
		return place{sid: sp.SID, own: true}
	case sp.PGID == sp.SID:
		return place{sid: sp.SID}
	default:
		return place{sid: sp.SID, pgid: sp.PGID}
	}
}

// lostAttempts bounds how often a launch is tried again because a stand-in ended.
const lostAttempts = 8

// start makes the process of a launch, and reports whether there was one.
func (in *Init) start(m *wire.InitLaunch, fds []int) (born bool, r result) {
	cgroup := -1
	if m.Tasks {
		if len(fds) == 0 {
			return false, result{wire.StageRequest, unix.EBADF}
		}
		cgroup, fds = fds[len(fds)-1], fds[:len(fds)-1]
	}
	tasks, err := newTasks(cgroup)
	if err == nil {
		err = in.standins.free(m.Spawn.PID)
	}
	if err != nil {
		return false, failed(err)
	}
	where := placeOf(&m.Spawn)
	for attempt := 0; ; attempt++ {
		born, r, err = in.startIn(where, tasks, m, fds)
		switch {
		case err == nil && !born && r == (result{wire.StageSpawn, unix.EINVAL}) && attempt == 0:
			in.limitAgain()
		case err == nil:
			return born, r
		case errors.Is(err, errLost) && attempt < lostAttempts:
		case (errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EPERM)) && where != alone:
			in.cfg.Log.Warn("process begins in a group of its own", "pid", m.Spawn.PID, "pgid", m.Spawn.PGID, "sid", m.Spawn.SID, "err", err)
			where = alone
		default:
			return false, failed(err)
		}
	}
}

// failed returns the result if there was no process because its place could not be made.
func failed(err error) result {
	errno := unix.EAGAIN
	_ = errors.As(err, &errno)
	return result{wire.StageSpawn, errno}
}

// startIn makes the process in a place. The error is one of making the place.
func (in *Init) startIn(where place, tasks tasks, m *wire.InitLaunch, streams []int) (born bool, r result, err error) {
	p, errno := newPlan(&m.Spawn, streams, where, nodeState{
		null: int(in.null.Fd()), resetOOM: in.resetOOM, cookie: uintptr(in.cfg.Cookie), name: in.name, view: m.View,
	})
	if errno != 0 {
		return false, result{wire.StageRequest, errno}, nil
	}
	sess, g, err := in.standins.use(where.sid, where.pgid)
	if err != nil {
		return false, result{}, err
	}
	defer in.standins.leave(sess, g)
	if sess.leader == nil && tasks.fd < 0 && in.standins.vforks.take() {
		defer in.standins.vforks.leave()
		born, r = p.run()
		return born, r, nil
	}
	born, r, err = in.standins.fork(sess, tasks, p)
	if err == nil && born && r.stage == 0 && where.own && sess.leader != nil {
		in.standins.lead(sess, m.Spawn.PID)
	}
	return born, r, err
}

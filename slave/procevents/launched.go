package procevents

import (
	"bproc/slave/core"
	"bproc/wire"
)

// The reports of init about its children, in the order in which it sends them. The Source must have
// been drained before Ended: what the process did before is then in the queue and is reported
// first.

// Launching says that a process is about to be started from the front end. It must be called before
// init is asked, so that no record comes from an unknown process.
func (t *Tracker) Launching(k core.Known) {
	if t.launched(k.PID) != nil {
		return
	}
	t.vacate(k.PID)
	if len(t.parted[k.PID]) > 0 {
		t.settle()
		t.settleNumber(k.PID, t.births+1)
	}
	t.births++
	own := traits{pgid: k.PGID, sid: k.SID, user: k.User, group: k.Group}
	p := &process{
		pid: k.PID, traits: own, front: own, serial: t.births, birth: k.Birth, unnamed: k.Unnamed, led: own.pgid == k.PID,
		launched: true, starting: true, ownExec: true, announced: true,
	}
	t.procs[k.PID] = p
	t.enter(p)
}

// Spawned says that the process executes its command. The event may have been reported before,
// because something that the process did had to be reported.
func (t *Tracker) Spawned(pid wire.PID) {
	if p := t.launched(pid); p != nil {
		p.ownExec, p.unread = false, p.ownExec
		t.started(p)
	}
}

// SpawnFailed says that the process was not started. launch is its launch if Launching was not
// called for it.
func (t *Tracker) SpawnFailed(pid wire.PID, launch uint64, stage wire.Stage, errno uint32) {
	p := t.launched(pid)
	if p != nil && (!p.starting || p.needed > 0) {
		t.Ended(&wire.InitStatus{PID: pid, Status: uint32(lostStatus)}) // it has been active: it was started, and is gone
		return
	}
	if p != nil {
		t.unstarted(p)
	}
	t.emit(p, wire.Event{Kind: wire.EventSpawned, PID: pid, Stage: stage, Errno: errno, Birth: launch})
}

// Unasked says that init was not asked to start the process: there was no process to report on, and
// there is none. It reports whether that is possible.
func (t *Tracker) Unasked(pid wire.PID) bool {
	p := t.launched(pid)
	if p == nil || !p.starting || p.needed > 0 {
		return false
	}
	t.unstarted(p)
	return true
}

// unstarted forgets a process that was not started.
func (t *Tracker) unstarted(p *process) {
	p.starting = false
	t.leave(p)
	p.gone = true
	t.forget(p)
}

// Ended says that the process has ended. Everything that is held is reported first.
func (t *Tracker) Ended(m *wire.InitStatus) {
	p := t.launched(m.PID)
	if p == nil {
		return // an orphan that init has adopted; the kernel's record reports its end
	}
	t.settle()
	t.started(p)
	p.dead = true
	t.scan.ended(p)
	t.tellEnd(p, wire.Event{Status: wire.Status(m.Status), Usage: m.Usage, WithNode: m.WithNode})
}

func (t *Tracker) launched(pid wire.PID) *process {
	if p := t.procs[pid]; p != nil && p.launched {
		return p
	}
	return nil
}

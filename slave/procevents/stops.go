package procevents

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Each stop and each continue is reported: a shell that has continued a job waits for its next
// stop, however soon that comes.

// halted takes in that a process is stopped.
func (t *Tracker) halted(r Record) {
	p := t.alive(r.PID)
	if p == nil {
		t.scan.miss(r)
		return
	}
	t.scan.heard(p, newsStop)
	t.halt(p, int(r.Status))
}

// resumed takes in that a process goes on.
func (t *Tracker) resumed(r Record) {
	p := t.alive(r.PID)
	if p == nil {
		t.scan.miss(r)
		return
	}
	t.scan.heard(p, newsStop)
	t.resume(p)
}

// halt has a stop reported. A stop before the process executes its command is not reported, nor is
// its end: the command has not begun.
func (t *Tracker) halt(p *process, signal int) {
	if p.stop != 0 || p.ownExec {
		return
	}
	if signal == 0 {
		signal = int(unix.SIGSTOP) // not known
	}
	p.stop = signal
	t.say(p, wire.Event{Kind: wire.EventStopped, PID: p.pid, Status: wire.Status(signal)})
}

func (t *Tracker) resume(p *process) {
	if p.stop != 0 {
		p.stop = 0
		t.say(p, wire.Event{Kind: wire.EventContinued, PID: p.pid})
	}
}

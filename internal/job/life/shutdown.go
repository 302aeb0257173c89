package life

import "time"

// end ends the hook or the process. A launch cannot be cancelled: its process is asked to end when
// it has started.
func (p *Process) end() {
	switch p.Phase {
	case hooking:
		p.killHook()
	case up:
		p.ask()
	default: // already ending, or launching
	}
}

// ask begins the shutdown of the process:
//
//	TERM or INT   asked     for the shutdown timeout
//	QUIT          dumping   for DumpTimeout
//	KILL          killed    until it has ended
func (p *Process) ask() {
	p.Phase = asked
	signal := sigterm
	if p.config.Interrupt {
		signal = sigint
	}
	p.emit(Send{p.Run, signal})
	p.wake(p.now.Add(p.config.ShutdownTimeout))
}

// press takes the next, harder step when the time of the current one is over.
func (p *Process) press() {
	switch p.Phase {
	case hooking, hookKill:
		p.killHook()
	case asked:
		p.Phase = dumping
		p.emit(Send{p.Run, sigquit})
		p.wake(p.now.Add(DumpTimeout))
	case dumping:
		p.Phase = killed
		p.emit(Send{p.Run, sigkill})
		p.wake(time.Time{})
	default: // there is no harder step, and these phases have no deadline
	}
}

// killHook kills the hook until it has ended: a hook that begins later gets no earlier signal.
func (p *Process) killHook() {
	p.Phase = hookKill
	p.emit(KillHook{p.Run})
	p.wake(p.now.Add(KillInterval))
}

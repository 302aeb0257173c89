package life

import "time"

// end has what is there end. A launch cannot be called back: its process is asked when it is there.
func (p *Process) end() {
	switch p.Phase {
	case hooking:
		p.killHook()
	case up:
		p.ask()
	default: // it is ending already, or will be asked when it is there
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

// press goes on to what is harder, since the time is over.
func (p *Process) press() {
	switch p.Phase {
	case hooking:
		p.killHook()
	case asked:
		p.Phase = dumping
		p.emit(Send{p.Run, sigquit})
		p.wake(p.now.Add(DumpTimeout))
	case dumping:
		p.Phase = killed
		p.emit(Send{p.Run, sigkill})
		p.wake(time.Time{})
	default: // nothing is harder, and these have no deadline
	}
}

func (p *Process) killHook() {
	p.Phase = hookKill
	p.emit(KillHook{p.Run})
	p.wake(time.Time{})
}

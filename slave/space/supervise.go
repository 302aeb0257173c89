package space

import (
	"bproc/slave/pid1/supervise"
)

// frontEnd is what the supervisor needs: the daemon and the space's own init.
type frontEnd struct {
	supervise.Daemon
	*Space
}

func (s *Space) supervise() (*supervise.Supervisor, error) {
	cfg := supervise.Config{
		Listener: s.listener, Table: s.calls, Level: supervise.Outside, Launched: &s.launches,
		Proc: int(s.proc.Fd()), Init: s.initPID,
	}
	if s.cfg.Daemon != nil {
		cfg.FrontEnd = frontEnd{s.cfg.Daemon, s}
	}
	return supervise.New(cfg)
}

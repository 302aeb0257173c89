package life

import "fmt"

// Input is a request to a process, or a report about it.
type Input interface {
	// note records the input in the process, and returns its kind in the current state.
	note(*Process) kind
}

type (
	// Start asks to run the process.
	Start struct{}
	// Stop asks to end the process, without a restart by its rule.
	Stop struct{}
	// Restart asks to end the process, if it runs, and to start it afterwards.
	Restart struct{}
	// HookBegan reports that the node executes the hook of a run.
	HookBegan struct{ Run uint64 }
	// HookEnded reports the end of a run's hook, or that it could not be run.
	HookEnded struct {
		Run  uint64
		Exit Exit
	}
	// Started reports that the process of a run has started.
	Started struct{ Run uint64 }
	// NotStarted reports that the process of a run could not be started: Exit has the reason.
	NotStarted struct {
		Run  uint64
		Exit Exit
	}
	// Ended reports that the process of a run has ended, with its control group.
	Ended struct {
		Run  uint64
		Exit Exit
	}
	// NodeDown reports that the run has ended with all processes of its node.
	NodeDown struct{ Run uint64 }
	// Due reports that the time of a [Wake] has come.
	Due struct{}
)

// Exit is the end of a program.
type Exit struct {
	Code   int
	Signal int
	Cause  Cause
}

// OK reports whether the program has ended successfully.
func (e Exit) OK() bool { return e == Exit{} }

func (e Exit) String() string {
	s := fmt.Sprintf("exit %d", e.Code)
	if e.Signal != 0 {
		s = fmt.Sprintf("signal %d", e.Signal)
	}
	if e.Cause != "" {
		s += " (" + string(e.Cause) + ")"
	}
	return s
}

// Cause is the reason of an end, or of a failed start, if the exit status does not tell it.
type Cause string

const (
	OutOfMemory      Cause = "out of memory"
	NodeWentDown     Cause = "node down"
	HookFailed       Cause = "pre_start failed"
	HookTimedOut     Cause = "pre_start timed out"
	NotExecuted      Cause = "not executed"
	ShutdownTimedOut Cause = "shutdown timed out"
)

// kind is the meaning of an input in the current state.
type kind uint8

const (
	ignored   kind = iota // about another run, or too early
	start                 // Start
	stop                  // Stop
	restart               // Restart
	hookBegan             // the hook has begun
	hooked                // the hook has ended successfully
	started               // Started
	finished              // the run is over successfully, without restart
	failed                // the run is over with a failure, without restart
	again                 // the run is over, and the rule asks for another
	due                   // Due, not before its time
)

var kindNames = [...]string{"ignored", "Start", "Stop", "Restart", "hook began", "hook ended well", "Started", "over, well", "over, badly", "over, restart", "Due"}

func (k kind) String() string { return kindNames[k] }

func (Start) note(*Process) kind   { return start }
func (Stop) note(*Process) kind    { return stop }
func (Restart) note(*Process) kind { return restart }

func (in HookBegan) note(p *Process) kind {
	if in.Run != p.Run || p.Phase != hooking {
		return ignored
	}
	return hookBegan
}

func (in HookEnded) note(p *Process) kind {
	switch {
	case in.Run != p.Run || p.Phase != hooking && p.Phase != hookKill:
		return ignored
	case in.Exit.OK() && p.Phase == hooking:
		return hooked
	case p.State == Starting && p.Phase == hookKill:
		in.Exit.Cause = HookTimedOut
	case p.State == Starting && in.Exit.Cause == "":
		in.Exit.Cause = HookFailed
	}
	return p.over(in.Exit)
}

func (in Started) note(p *Process) kind {
	if in.Run != p.Run || p.Phase != launching {
		return ignored
	}
	return started
}

func (in NotStarted) note(p *Process) kind {
	if in.Run != p.Run || p.Phase != launching {
		return ignored
	}
	if in.Exit.Cause == "" {
		in.Exit.Cause = NotExecuted
	}
	return p.over(in.Exit)
}

func (in Ended) note(p *Process) kind {
	if in.Run != p.Run || p.Phase < up {
		return ignored
	}
	if p.Phase == killed && in.Exit.Cause == "" {
		in.Exit.Cause = ShutdownTimedOut
	}
	return p.over(in.Exit)
}

func (in NodeDown) note(p *Process) kind {
	if in.Run != p.Run || p.Phase == nothing {
		return ignored
	}
	return p.over(Exit{Signal: sigkill, Cause: NodeWentDown})
}

func (Due) note(p *Process) kind {
	if p.Deadline.IsZero() {
		return ignored
	}
	if p.now.Before(p.Deadline) {
		p.emit(Wake{p.Deadline})
		return ignored
	}
	return due
}

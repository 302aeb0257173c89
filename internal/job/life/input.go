package life

import "fmt"

// Input is what a process is told.
type Input interface {
	// note takes note of what the input says, and returns what it comes to.
	note(*Process) kind
}

type (
	// Start asks for the process to run.
	Start struct{}
	// Stop asks for it to end, and not to be started again by its rule.
	Stop struct{}
	// Restart asks for it to end, if it is there, and to be started then.
	Restart struct{}
	// HookEnded says how the hook of a run has ended.
	HookEnded struct {
		Run  uint64
		Exit Exit
	}
	// Started says that the process of a run is there.
	Started struct{ Run uint64 }
	// NotStarted says that there will be none: Exit says why.
	NotStarted struct {
		Run  uint64
		Exit Exit
	}
	// Ended says that the process of a run has ended, with all that belongs to it.
	Ended struct {
		Run  uint64
		Exit Exit
	}
	// NodeDown says that the node of a run is down: nothing of the run is left.
	NodeDown struct{ Run uint64 }
	// Due says that the time of a [Wake] has come.
	Due struct{}
)

// Exit is how a program has ended.
type Exit struct {
	Code   int
	Signal int
	Cause  Cause
}

// OK reports whether it has ended well.
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

// Cause is why a program has ended, or has not begun, where its status does not say it.
type Cause string

const (
	OutOfMemory      Cause = "out of memory"
	NodeWentDown     Cause = "node down"
	HookFailed       Cause = "pre_start failed"
	HookTimedOut     Cause = "pre_start timed out"
	NotExecuted      Cause = "not executed"
	ShutdownTimedOut Cause = "shutdown timed out"
)

// kind is what an input comes to in the state that the process is in.
type kind uint8

const (
	ignored  kind = iota // it is of another run, or early
	start                // Start
	stop                 // Stop
	restart              // Restart
	hooked               // the hook has ended well
	started              // Started
	finished             // the run is over: well, and for good
	failed               // the run is over: badly, and for good
	again                // the run is over, and the rule says that there is another
	due                  // Due, at its time
)

var kindNames = [...]string{"ignored", "Start", "Stop", "Restart", "hook ended well", "Started", "over, well", "over, badly", "over, restart", "Due"}

func (k kind) String() string { return kindNames[k] }

func (Start) note(*Process) kind   { return start }
func (Stop) note(*Process) kind    { return stop }
func (Restart) note(*Process) kind { return restart }

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

package life

import (
	"fmt"
	"time"
)

// Output is an action to carry out.
type Output interface{ String() string }

type (
	// RunHook asks to run the hook of a run. [HookBegan] and [HookEnded] answer.
	RunHook struct{ Run uint64 }
	// KillHook asks to kill the hook with its control group, if it has begun.
	KillHook struct{ Run uint64 }
	// Launch asks to start the process of a run. [Started] or [NotStarted] answers.
	Launch struct{ Run uint64 }
	// Send asks to send a signal to the process and its control group.
	Send struct {
		Run    uint64
		Signal int
	}
	// Wake asks for [Due] at a time. It replaces the previous Wake; the zero time cancels it.
	Wake struct{ At time.Time }
	// Already says that a request has no effect.
	Already struct{ State State }
	// Changed is the event of a transition.
	Changed struct {
		At   time.Time
		Name Event
		From State
		To   State
		Run  uint64 // the last run, including one that begins with this transition
		Exit Exit   // of that run, if it is over
	}
)

func (o RunHook) String() string  { return fmt.Sprintf("run hook of run %d", o.Run) }
func (o KillHook) String() string { return fmt.Sprintf("kill hook of run %d", o.Run) }
func (o Launch) String() string   { return fmt.Sprintf("launch run %d", o.Run) }
func (o Send) String() string     { return fmt.Sprintf("send %s to run %d", signalName(o.Signal), o.Run) }
func (o Already) String() string  { return fmt.Sprintf("already %v", o.State) }

func (o Wake) String() string {
	if o.At.IsZero() {
		return "wake never"
	}
	return "wake at " + o.At.UTC().Format("15:04:05.0")
}

func (o Changed) String() string {
	s := fmt.Sprintf("event %s: %v -> %v, run %d", o.Name, o.From, o.To, o.Run)
	if !o.To.Active() && o.Run > 0 {
		s += ", " + o.Exit.String()
	}
	return s
}

// Signal numbers, the same on all systems on which bproc runs.
const (
	sigint  = 2
	sigquit = 3
	sigkill = 9
	sigterm = 15
)

func signalName(s int) string {
	switch s {
	case sigint:
		return "INT"
	case sigquit:
		return "QUIT"
	case sigkill:
		return "KILL"
	case sigterm:
		return "TERM"
	}
	return fmt.Sprint(s)
}

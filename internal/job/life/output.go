package life

import (
	"fmt"
	"time"
)

// Output is what is to be done.
type Output interface{ String() string }

type (
	// RunHook asks for the hook of a run. [HookEnded] answers.
	RunHook struct{ Run uint64 }
	// KillHook asks for the hook to be killed, with all that belongs to it.
	KillHook struct{ Run uint64 }
	// Launch asks for the process of a run. [Started] or [NotStarted] answers.
	Launch struct{ Run uint64 }
	// Send asks for a signal to the process, and to all that belongs to it.
	Send struct {
		Run    uint64
		Signal int
	}
	// Wake asks for [Due] at a time. It takes the place of the one before; the zero time: of none.
	Wake struct{ At time.Time }
	// Already says that a request changes nothing.
	Already struct{ State State }
	// Changed is the event of a transition.
	Changed struct {
		At   time.Time
		Name Event
		From State
		To   State
		Run  uint64 // the last that has begun, with this transition
		Exit Exit   // of that, if it is over
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

// Numbers of signals, of all systems that bproc runs on.
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

package life

import "fmt"

// State is a state in the life of a process.
type State uint8

const (
	Created  State = iota // never started
	Starting              // its hook runs, or it is being launched
	Running
	Stopping // it was asked to end
	Stopped  // it has ended on request
	Finished // it has ended by itself, successfully
	Failed   // it has failed, or could not be started
	Waiting  // waiting for a restart by the rule: restart wait
)

var stateNames = [...]string{"created", "starting", "running", "stopping", "stopped", "finished", "failed", "restart wait"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Active reports whether the process or its hook may exist on a node.
func (s State) Active() bool { return s == Starting || s == Running || s == Stopping }

// Phase is the activity in an active state.
type Phase uint8

const (
	nothing   Phase = iota
	hooking         // the hook is about to begin, or runs
	hookKill        // the hook got SIGKILL
	launching       // the result of the launch is outstanding
	up              // the process runs
	asked           // the process got its shutdown signal
	dumping         // the process got SIGQUIT
	killed          // the process got SIGKILL
)

var phaseNames = [...]string{"nothing", "hook", "hook killed", "launch", "up", "asked", "dumping", "killed"}

func (p Phase) String() string { return phaseNames[p] }

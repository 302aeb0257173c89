package life

import "fmt"

// State is where a process is in its life.
type State uint8

const (
	Created  State = iota // it has not been started yet
	Starting              // its hook is run, or it is being launched
	Running
	Stopping // it has been asked to end
	Stopped  // it has ended because it was asked to
	Finished // it has ended by itself, well
	Failed   // it has not, or could not be started
	Waiting  // it is started again when the time has come: restart wait
)

var stateNames = [...]string{"created", "starting", "running", "stopping", "stopped", "finished", "failed", "restart wait"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Active reports whether there may be a process, or its hook, on a node.
func (s State) Active() bool { return s == Starting || s == Running || s == Stopping }

// Phase is what is under way in an active state.
type Phase uint8

const (
	nothing   Phase = iota
	hooking         // the hook is run
	hookKill        // the hook has got SIGKILL
	launching       // whether the process runs will be told
	up              // it runs
	asked           // it has got its shutdown signal
	dumping         // it has got SIGQUIT
	killed          // it has got SIGKILL
)

var phaseNames = [...]string{"nothing", "hook", "hook killed", "launch", "up", "asked", "dumping", "killed"}

func (p Phase) String() string { return phaseNames[p] }

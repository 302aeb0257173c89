package slave

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Nice values. The daemon runs before the processes of the node's users, which have no ghosts
// without it. What it starts for them has the nice value of its caller. The warden's thread, like
// init, is woken rarely and does little.
const (
	daemonPriority = -10
	wardenPriority = -20
)

// raisePriority gives the daemon's threads, and the threads that they start, its priority.
func raisePriority() error { return setPriority(daemonPriority) }

// setPriority sets the nice value of all threads of this process. A nice value is a thread's
// (sched(7)), and inherited.
func setPriority(nice int) error {
	const dir = "/proc/self/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("priority of the daemon: %w", err)
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, tid, nice); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("priority of the daemon: %w", err)
		}
	}
	return nil
}

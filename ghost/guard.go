package ghost

import (
	"fmt"
	"os"
)

// guards are the values to try, best first: a process with -1000 is never chosen. A process without
// CAP_SYS_RESOURCE may be allowed less (proc_pid_oom_score_adj(5)).
var guards = []string{"-1000", "-999"}

// Guard tells the kernel not to choose this process when memory is short: ghosts would end with the
// keeper.
func Guard() error {
	var err error
	for _, guard := range guards {
		if err = os.WriteFile("/proc/self/oom_score_adj", []byte(guard), 0); err == nil {
			return nil
		}
	}
	return fmt.Errorf("guard against the OOM killer: %w; it needs CAP_SYS_RESOURCE", err)
}

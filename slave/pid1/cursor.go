package pid1

import (
	"fmt"
	"strconv"

	"bproc/wire"
)

// cursorFile belongs to the PID namespace of whoever writes it.
const cursorFile = "/proc/sys/kernel/ns_last_pid"

// limitAgain undoes what root of the space may have done to the limit of process
// numbers, by which clone3 then refuses those of the cluster.
func (in *Init) limitAgain() {
	_, err := in.limit.WriteAt([]byte(strconv.Itoa(pidMax)), 0)
	in.cfg.Log.Warn("the limit of process numbers was set anew", "err", err)
}

// moveCursor makes next the number that the kernel gives to the next process
// or thread of the space, or the first free one after it. The file holds the
// last number given out.
func (in *Init) moveCursor(next wire.PID) error {
	if next < 2 {
		return fmt.Errorf("%w: cursor to %d", wire.ErrFrame, next)
	}
	if _, err := in.cursor.WriteAt([]byte(strconv.Itoa(int(next)-1)), 0); err != nil {
		in.cfg.Log.Error("cannot move the cursor", "pid", next, "err", err)
	}
	return nil
}

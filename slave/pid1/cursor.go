package pid1

import "strconv"

// cursorFile belongs to the PID namespace of whoever writes it.
const cursorFile = "/proc/sys/kernel/ns_last_pid"

// limitAgain undoes what root of the space may have done to the limit of process
// numbers, by which clone3 then refuses those of the cluster.
func (in *Init) limitAgain() {
	_, err := in.limit.WriteAt([]byte(strconv.Itoa(pidMax)), 0)
	in.cfg.Log.Warn("the limit of process numbers was set anew", "err", err)
}

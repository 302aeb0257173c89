package pid1

import "strconv"

// cursorFile belongs to the PID namespace of the process that writes it.
const cursorFile = "/proc/sys/kernel/ns_last_pid"

// limitAgain restores the limit of process numbers, which root of the space may have changed:
// clone3 then refuses numbers of the cluster.
func (in *Init) limitAgain() {
	_, err := in.limit.WriteAt([]byte(strconv.Itoa(pidMax)), 0)
	in.cfg.Log.Warn("the limit of process numbers was set anew", "err", err)
}

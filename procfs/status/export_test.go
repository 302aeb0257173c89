package status

import (
	"time"

	"bproc/wire"
)

// Forget makes the next census a new one.
func (c *Collector) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = nil
}

// ByProcfs makes the Collector work without the BPF program.
func (c *Collector) ByProcfs() error {
	err := c.marker.Close()
	c.marker = procMarks{int(c.cfg.Proc.Fd()), func() func(wire.PID) bool { return func(wire.PID) bool { return false } }}
	return err
}

// Locate returns where a path is searched.
var Locate = locate

// SetPatience sets how long a read of a process's memory may take.
func (c *Collector) SetPatience(d time.Duration) { c.locked.patience = d }

// MaxLeftOfUser bounds the reads of one user's processes that are left alone.
const MaxLeftOfUser = maxLeftOfUser

package status

// Forget makes the next census a new one.
func (c *Collector) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = nil
}

// ByProcfs makes the Collector do without the BPF program.
func (c *Collector) ByProcfs() error {
	err := c.marker.Close()
	c.marker = procMarks{int(c.cfg.Proc.Fd())}
	return err
}

// ByKernel reports whether the kernel has taken the BPF program.
func (c *Collector) ByKernel() bool {
	_, ok := c.marker.(*kernelMarks)
	return ok
}

// Locate is where a path is looked for.
var Locate = locate

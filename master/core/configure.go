package core

import "time"

// Configure changes the configuration ([Config]) of a core that runs.
type Configure struct {
	Named     []Named
	Rights    Rights
	Squash    uint32
	Ghosts    string
	SetUp     bool
	PowerTime time.Duration
}

func (in Configure) apply(c *Core) {
	c.nodes.rights = in.Rights
	c.nodes.configure(in.Named, c.clock)
	c.config.Squash, c.config.Ghosts, c.config.PowerTime = in.Squash, in.Ghosts, in.PowerTime
	if in.SetUp == c.config.SetUp {
		return
	}
	c.config.SetUp = in.SetUp
	for _, n := range c.nodes.sorted() { // nodes that are up need no set-up before their next boot
		c.noteState(n)
	}
}

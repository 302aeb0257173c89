package core

import "time"

// Configure changes what a core was told at its beginning ([Config]) while it goes on.
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
	for _, n := range c.nodes.sorted() { // what is up needs no set-up before it is booted anew
		c.noteState(n)
	}
}

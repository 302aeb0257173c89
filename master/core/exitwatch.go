package core

import "golang.org/x/sys/unix"

// maxExitsNode bounds the processes for whose ends one node waits: it is the number of shadows of a node.
// Config.MaxEnds bounds them for all nodes.
const maxExitsNode = 1024

// awaitEnd waits for the end of a process, or only tells whether the process exists. A ghost is a
// process like any other here, and ends when its process certainly has.
func (c *Core) awaitEnd(k *call) {
	wait := k.args[1] != 0
	if !wait {
		c.wonder(EndOf{PID: k.pid(0)}, k)
		return
	}
	if k.s.exits >= min(maxExitsNode, c.config.MaxEnds-c.ends) {
		c.fails(k, unix.EMFILE)
		return
	}
	c.ends++
	k.s.exits++
	c.wonder(EndOf{PID: k.pid(0), Wait: true}, (*exitWatch)(k))
}

// exitWatch is a call that waits for the end of a process.
type exitWatch call

func (w *exitWatch) told(c *Core, a *Answer) {
	c.ends--
	w.s.exits--
	c.answer((*call)(w), 0, a.Errno)
}

// forgetEnds drops the calls of a session that wait for ends of processes.
func (c *Core) forgetEnds(s *session) {
	if s.exits == 0 {
		return
	}
	for _, number := range inOrder(c.asks) {
		if w, ok := c.asks[number].(*exitWatch); ok && w.s == s {
			delete(c.asks, number)
			w.told(c, new(Answer))
			c.emit(Forget{number})
		}
	}
}

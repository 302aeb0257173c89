package core

import (
	"maps"
	"slices"

	"bproc/wire"
)

// sessionUp begins a session, whose first message is the inventory. Events get numbers of the
// session. The front end is sent the events again that it has not confirmed, and then the calls
// that wait.
func (c *Core) sessionUp(in SessionUp) {
	e, inv := &c.events, in.Inventory
	c.session = in.Session
	c.emit(OpenSession{})
	e.list(&inv)
	e.first = 1
	c.say(0, &inv)
	again := e.again()
	c.emit(Renumber{again})
	c.backlog.last, c.backlog.done = 0, 0
	c.follow()
	c.sayEvents(wire.Events{First: 1, Events: again})
	c.toldUpTo(inv.Again)
	for _, number := range slices.Sorted(maps.Keys(c.calls)) {
		c.say(number, c.calls[number])
	}
}

// fromMaster takes in a message of the session; number is that of the call that it answers.
func (c *Core) fromMaster(number uint64, m wire.Message) {
	switch m := m.(type) {
	case *wire.Progress:
		c.confirm(m.Event)
		c.backlog.done = m.Event
		c.follow()
	case *wire.Return:
		if c.calls[number] != nil {
			delete(c.calls, number)
			c.emit(Returned{number, m})
		}
	case *wire.Reparent:
		c.reparent(m)
	case *wire.KillAll:
		c.killAll(false)
	}
}

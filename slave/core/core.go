package core

import (
	"time"

	"bproc/wire"
)

// Core is the state machine. Only one goroutine at a time may call its methods.
type Core struct {
	log     logger
	out     []Output
	clock   time.Time // of the input
	session Session   // 0: there is none

	events   events
	launched map[wire.PID]bool // the front end has started them, and init has not said that they have ended
	calls    map[uint64]*wire.Call
	backlog  backlog
	lease    lease

	signals  signals
	pursuits []*pursuit // that are yet to be looked after
	pursued  []*pursuit // processes are looked for to which these have not come
}

// Session is the number that the daemon gives a session with the master. It is not 0.
type Session uint64

// Config is what a core knows from the beginning.
type Config struct {
	Journal   []Record // of a former daemon, which has left its processes
	Confirmed uint64   // the last [Confirm] of that
}

// New returns a core without a session. An error says what of the journal cannot be read.
func New(cfg Config) (*Core, error) {
	c := &Core{launched: map[wire.PID]bool{}, calls: map[uint64]*wire.Call{}}
	c.log.core = c
	c.signals = signals{last: map[wire.PID]uint64{}, marks: map[wire.PID]uint64{}}
	c.events = events{known: map[wire.PID]Known{}, first: 1}
	if err := c.replay(cfg.Journal, cfg.Confirmed); err != nil {
		return nil, err
	}
	return c, nil
}

// Step takes one input, which came at a time, and returns what is to be done for it, in
// order. The outputs are the caller's. An input that an output says that it is followed by is
// the very next one, before the outputs that come after it are done.
func (c *Core) Step(now time.Time, in Input) []Output {
	c.clock = now
	in.apply(c)
	out := c.out
	c.out = nil
	return out
}

func (c *Core) emit(o Output) { c.out = append(c.out, o) }

// say sends a message to the master. What is said while there is no session is not sent: the
// beginning of the next one says it all.
func (c *Core) say(number uint64, m wire.Message) {
	if c.session != 0 {
		c.emit(ToMaster{number, m})
	}
}

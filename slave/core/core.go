package core

import (
	"time"

	"bproc/wire"
)

// Core is the state machine. Only one goroutine at a time may call its methods.
type Core struct {
	log     logger
	out     []Output
	clock   time.Time // of the present input
	session Session   // 0: there is none

	events   events
	launched map[wire.PID]bool // started by the front end; init has not reported their end
	calls    map[uint64]*wire.Call
	backlog  backlog
	lease    lease

	signals  signals
	pursuits []*pursuit // waiting for the next LookForLate
	pursued  []*pursuit // in the present LookForLate
}

// Session is the number that the daemon gives a session with the master. It is not 0.
type Session uint64

// Session returns the present session; 0: there is none.
func (c *Core) Session() Session { return c.session }

// Config is what a core knows at its start.
type Config struct {
	Journal   []Record // of a former daemon, which has left its processes
	Confirmed uint64   // the last [Confirm] of that daemon
}

// New returns a core without a session. An error says what in the journal cannot be read.
func New(cfg Config) (*Core, error) {
	c := &Core{launched: map[wire.PID]bool{}, calls: map[uint64]*wire.Call{}}
	c.log.core = c
	c.signals = signals{marks: map[wire.PID]uint64{}}
	c.events = events{known: map[wire.PID]Known{}, first: 1}
	if err := c.replay(cfg.Journal, cfg.Confirmed); err != nil {
		return nil, err
	}
	return c, nil
}

// Step takes one input, with the time at which it came, and returns the outputs that follow from
// it, in order. The caller owns the outputs. If an output says that an input follows it, that input
// is the very next one, before the later outputs are carried out.
func (c *Core) Step(now time.Time, in Input) []Output {
	c.clock = now
	in.apply(c)
	out := c.out
	c.out = nil
	return out
}

func (c *Core) emit(o Output) { c.out = append(c.out, o) }

// say sends a message to the master. Without a session it sends nothing: the beginning of the next
// session makes up for that.
func (c *Core) say(number uint64, m wire.Message) {
	if c.session != 0 {
		c.emit(ToMaster{number, m})
	}
}

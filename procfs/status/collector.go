package status

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"bproc/wire"
)

// Config says what a [Collector] looks at.
type Config struct {
	Proc   *os.File // the directory of a procfs; open as long as the Collector is
	Marker Marker   // closed with the Collector; nil: procfs is read for the marks, too
	Log    *slog.Logger

	// Inner says that the processes are those of a space, in which init is none.
	Inner bool

	// Hidden returns which processes are not shown. It is called once for each pass, and
	// by no Marker that leaves them out by itself. Nil: none is hidden.
	Hidden func() (is func(wire.PID) bool)

	// Parent returns the parent on the front end of a process that init is the parent of
	// on the node; 0: not known.
	Parent func(wire.PID) wire.PID
}

// Collector reads what procfs shows of processes. Any goroutine may use
// it.
type Collector struct {
	cfg    Config
	marker Marker

	mu     sync.Mutex
	latest *census
}

// fresh is how long a census serves all who ask. A viewer asks once per second; several
// do not make a node busier than five.
const fresh = 200 * time.Millisecond

// pause is the time from the end of a pass to the next. A client that presses gets a census
// that was begun after its question, but however many press, a node rests four times as long
// as a pass takes, up to fresh.
func (c *census) pause() time.Duration { return min(fresh, max(pressed, 4*c.took)) }

const pressed = 5 * time.Millisecond

// New returns a Collector. Nothing is read before somebody asks.
func New(cfg Config) *Collector {
	c := &Collector{cfg: cfg, marker: cfg.Marker}
	if c.marker == nil {
		if cfg.Hidden == nil {
			cfg.Hidden = func() func(wire.PID) bool { return func(wire.PID) bool { return false } }
		}
		c.marker = procMarks{int(cfg.Proc.Fd()), cfg.Hidden}
	}
	return c
}

// Close gives up what the Collector has open, but for what it was given.
func (c *Collector) Close() error { return c.marker.Close() }

// census is the marks of all processes at one moment. It is not changed after it was
// made.
type census struct {
	at    time.Time // when the first mark was made, or before
	took  time.Duration
	procs map[wire.PID]process
}

// process is the marks of all threads of a process.
type process struct {
	start   uint64
	value   uint64 // of all threads together
	groups  uint64
	threads []thread
}

type thread struct {
	tid   wire.PID
	start uint64
	value uint64
}

// census returns the marks of all processes: as they are if that is pressing, else as they
// are or were a moment ago.
func (c *Collector) census(pressing bool) (*census, error) {
	asked := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.latest != nil {
		last := c.latest
		if last.at.After(asked) || !pressing && time.Since(last.at) < fresh {
			return last, nil
		}
		rest := last.pause() - time.Since(last.at.Add(last.took))
		if rest <= 0 {
			break
		}
		c.mu.Unlock()
		time.Sleep(rest)
		c.mu.Lock()
	}
	now := &census{at: time.Now()}
	if c.latest != nil {
		now.procs = make(map[wire.PID]process, len(c.latest.procs))
	} else {
		now.procs = make(map[wire.PID]process)
	}
	if err := c.marker.Marks(func(m Mark) {
		if !c.cfg.Inner || m.PID != initPID {
			now.add(m)
		}
	}); err != nil {
		return nil, err
	}
	now.took = time.Since(now.at)
	c.latest = now
	return now, nil
}

// initPID is the number of a space's init in it.
const initPID = 1

func (c *census) add(m Mark) {
	p := c.procs[m.PID]
	if m.TID == m.PID {
		p.start, p.groups = m.Start, m.Groups
	}
	p.value += m.Value * (2*uint64(m.TID) + 1) // a sum, so that the order of threads is nothing
	p.threads = append(p.threads, thread{m.TID, m.Start, m.Value})
	c.procs[m.PID] = p
}

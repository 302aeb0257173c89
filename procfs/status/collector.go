package status

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"bproc/wire"
)

// Config is the configuration of a [Collector].
type Config struct {
	Proc   *os.File // the root directory of a procfs; must stay open as long as the Collector
	Marker Marker   // closed with the Collector; nil: marks are made by reading procfs
	Log    *slog.Logger

	// Inner means that the processes are those of a space, whose init is not shown.
	Inner bool

	// Hidden returns a function that reports whether a process is hidden. It is called once for
	// each pass, but not with a Marker, which omits hidden processes itself. Nil: none is hidden.
	Hidden func() (is func(wire.PID) bool)

	// Parent returns the parent on the front end of a process whose parent on the node is init; 0:
	// not known.
	Parent func(wire.PID) wire.PID
}

// Collector reads what procfs shows of processes. Any goroutine may use it.
type Collector struct {
	cfg    Config
	marker Marker
	locked *locked

	mu     sync.Mutex
	latest *census
}

// fresh is how long a census serves all viewers. A viewer asks once a second; several cost a node
// no more than five censuses a second.
const fresh = 200 * time.Millisecond

// pause returns the time from the end of a pass to the next. A pressing client gets a census that
// was begun after its question, but with any number of them a node rests four times as long as a
// pass takes, up to fresh.
func (c *census) pause() time.Duration { return min(fresh, max(pressed, 4*c.took)) }

const pressed = 5 * time.Millisecond

// New returns a Collector. It reads nothing before the first question.
func New(cfg Config) *Collector {
	c := &Collector{cfg: cfg, marker: cfg.Marker, locked: newLocked(cfg.Log)}
	if c.marker == nil {
		if cfg.Hidden == nil {
			cfg.Hidden = func() func(wire.PID) bool { return func(wire.PID) bool { return false } }
		}
		c.marker = procMarks{int(cfg.Proc.Fd()), cfg.Hidden}
	}
	return c
}

// Close closes the marker. Config.Proc stays open.
func (c *Collector) Close() error { return c.marker.Close() }

// census has the marks of all processes at one moment. It does not change once it is made.
type census struct {
	at    time.Time // when the first mark was made, or before
	took  time.Duration
	procs map[wire.PID]process
}

// process has the marks of all threads of a process.
type process struct {
	start   uint64
	value   uint64 // of all threads
	groups  uint64
	threads []thread
}

type thread struct {
	tid   wire.PID
	start uint64
	value uint64
}

// census returns the marks of all processes: of now if pressing, else of now or a moment ago.
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

// initPID is the number of init in a space.
const initPID = 1

func (c *census) add(m Mark) {
	p := c.procs[m.PID]
	if m.TID == m.PID {
		p.start, p.groups = m.Start, m.Groups
	}
	p.value += m.Value * (2*uint64(m.TID) + 1) // a sum, which does not depend on the order of threads
	p.threads = append(p.threads, thread{m.TID, m.Start, m.Value})
	c.procs[m.PID] = p
}

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
	Proc      *os.File // the directory of the space's procfs; open as long as the Collector is
	Namespace uint64   // inode of the space's PID namespace
	Log       *slog.Logger

	// Parent returns the parent on the front end of a process that init is the parent of
	// on the node; 0: not known.
	Parent func(wire.PID) wire.PID
}

// Collector reads what procfs shows of the processes of a space. Any goroutine may use
// it.
type Collector struct {
	cfg    Config
	marker marker

	mu     sync.Mutex
	latest *census
}

// fresh is how long a census serves all who ask. A viewer asks once per second; several
// do not make a node busier than five.
const fresh = 200 * time.Millisecond

// New returns a Collector. Nothing is read before somebody asks.
func New(cfg Config) *Collector {
	c := &Collector{cfg: cfg}
	marks, err := newKernelMarks(cfg.Namespace)
	if err != nil {
		cfg.Log.Warn("processes are looked at one by one, which takes longer", "err", err)
		c.marker = procMarks{int(cfg.Proc.Fd())}
	} else {
		c.marker = marks
	}
	return c
}

// Close gives up what the Collector has open, but for what it was given.
func (c *Collector) Close() error { return c.marker.Close() }

// census is the marks of all processes at one moment. It is not changed after it was
// made.
type census struct {
	at    time.Time
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

// census returns the marks of all processes, as they are or were a moment ago.
func (c *Collector) census() (*census, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest != nil && time.Since(c.latest.at) < fresh {
		return c.latest, nil
	}
	now := &census{at: time.Now()}
	if c.latest != nil {
		now.procs = make(map[wire.PID]process, len(c.latest.procs))
	} else {
		now.procs = make(map[wire.PID]process)
	}
	if err := c.marker.marks(now.add); err != nil {
		return nil, err
	}
	c.latest = now
	return now, nil
}

// initPID is the number of a space's init in it.
const initPID = 1

func (c *census) add(m mark) {
	if m.pid <= initPID {
		return
	}
	p := c.procs[m.pid]
	if m.tid == m.pid {
		p.start, p.groups = m.start, m.groups
	}
	p.value += m.value * (2*uint64(m.tid) + 1) // a sum, so that the order of threads is nothing
	p.threads = append(p.threads, thread{m.tid, m.start, m.value})
	c.procs[m.pid] = p
}

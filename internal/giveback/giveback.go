package giveback

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	delay = time.Second      // after the last who says so
	again = 10 * time.Second // after memory was given back, unless there is much more by then
	late  = 15 * time.Second // after that: for pools, stacks that shrink by halves, and what waited for an answer
	spare = 2 << 20          // bytes that are not worth it
)

// Giver gives memory back. The zero Giver is ready.
type Giver struct {
	mu     sync.Mutex
	timer  *time.Timer
	later  *time.Timer // once more
	last   time.Time   // when memory was given back
	needed uint64      // bytes, then
}

// Soon has memory given back when nobody has called Soon for a moment, if there is much.
func (g *Giver) Soon() { g.in(delay) }

func (g *Giver) in(wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer == nil {
		g.timer = time.AfterFunc(wait, g.give)
	} else {
		g.timer.Reset(wait)
	}
}

// give gives memory back. What was needed the last time may be what is over now.
func (g *Giver) give() {
	g.mu.Lock()
	needed, rest := g.needed, again-time.Since(g.last)
	g.mu.Unlock()
	switch has := heap(); {
	case has <= spare:
		return
	case rest > 0 && has <= needed+needed/4+spare:
		g.in(max(rest, delay))
		return
	}
	g.free()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.later == nil {
		g.later = time.AfterFunc(late, g.free)
	} else {
		g.later.Reset(late)
	}
}

// free gives back what is not needed.
func (g *Giver) free() {
	debug.FreeOSMemory()
	needed := heap()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.needed, g.last = needed, time.Now()
}

// heap returns how many bytes the heap has from the system.
func heap() (bytes uint64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	for _, s := range samples {
		bytes += s.Value.Uint64()
	}
	return bytes
}

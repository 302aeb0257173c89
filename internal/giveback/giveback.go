package giveback

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	delay = time.Second      // after the last call of Soon
	most  = time.Minute      // after the first call of Soon, however many others there are
	again = 10 * time.Second // after the last return of memory, unless the heap is much larger now
	late  = 15 * time.Second // after a return: for pools, stacks that shrink by halves, and requests that were pending
	spare = 2 << 20          // a heap of that many bytes is left alone
)

// Giver returns memory. The zero Giver is ready to use.
type Giver struct {
	mu     sync.Mutex
	timer  *time.Timer
	later  *time.Timer // for the second return
	asked  time.Time   // time of the first call of Soon since give; the zero time: there was none
	last   time.Time   // time of the last return
	needed uint64      // heap size after the last return, in bytes
}

// Soon returns memory when there was no call of Soon for a moment, or there are calls all the time,
// if the heap is large.
func (g *Giver) Soon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.asked.IsZero() {
		g.asked = now
	}
	if now.Sub(g.asked) < most {
		g.inLocked(delay)
	}
}

func (g *Giver) inLocked(wait time.Duration) {
	if g.timer == nil {
		g.timer = time.AfterFunc(wait, g.give)
	} else {
		g.timer.Reset(wait)
	}
}

// give returns memory. Memory that was needed the last time may be free now.
func (g *Giver) give() {
	if !g.due() {
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

// due reports whether memory is to be returned now. It may be later.
func (g *Giver) due() bool {
	has := heap()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = time.Time{}
	rest := again - time.Since(g.last)
	if rest > 0 && has > spare && has <= g.needed+g.needed/4+spare {
		g.inLocked(max(rest, delay))
		return false
	}
	return has > spare
}

// free returns free memory.
func (g *Giver) free() {
	debug.FreeOSMemory()
	needed := heap()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.needed, g.last = needed, time.Now()
}

// heap returns the size of the heap in bytes, as obtained from the system.
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

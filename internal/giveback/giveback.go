package giveback

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	delay = time.Second // after the last who says so
	spare = 2 << 20     // bytes that the heap may have beside a quarter more than it needs
)

// Giver gives memory back. The zero Giver is ready.
type Giver struct {
	mu     sync.Mutex
	timer  *time.Timer
	needed uint64 // bytes, when memory was given back last
}

// Soon has memory given back when nobody has called Soon for a moment, if there is much.
func (g *Giver) Soon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer == nil {
		g.timer = time.AfterFunc(delay, g.give)
	} else {
		g.timer.Reset(delay)
	}
}

func (g *Giver) give() {
	g.mu.Lock()
	needed := g.needed
	g.mu.Unlock()
	if heap() <= needed+needed/4+spare {
		return
	}
	debug.FreeOSMemory()
	needed = heap()
	g.mu.Lock()
	g.needed = needed
	g.mu.Unlock()
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

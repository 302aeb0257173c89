package ghost

import "time"

// prodTime bounds the shard's wait for one ghost alone: it lasts once or twice this time. A ghost
// that runs stops within microseconds.
const prodTime = time.Millisecond

// prod ends a shard's wait for one ghost, so that the shard can handle the others.
type prod struct {
	alarm
	armed bool
}

// arm interrupts calls of the thread from now on. The alarm stays set until it interrupts the
// thread needlessly: most ghosts stop before.
func (p *prod) arm() {
	if p.made && !p.armed {
		p.armed = true
		p.set(prodTime, prodTime)
	}
}

func (p *prod) disarm() {
	if p.armed {
		p.armed = false
		p.set(0, 0)
	}
}

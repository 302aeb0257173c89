package ghost

import "time"

// prodTime is how long a shard waits for one ghost, and no other: for once or twice this
// time. A ghost that runs stops within microseconds.
const prodTime = time.Millisecond

// prod ends a shard's wait for one ghost, so that the shard can look after the others.
type prod struct {
	alarm
	armed bool
}

// arm has calls of the thread be interrupted from now on. The alarm stays set until the
// thread is interrupted when it need not be: most ghosts stop before.
func (p *prod) arm() {
	if p.made && !p.armed {
		p.armed = true
		p.set(prodTime)
	}
}

func (p *prod) disarm() {
	if p.armed {
		p.armed = false
		p.set(0)
	}
}

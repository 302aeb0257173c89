package slave

import (
	"io"
	"sync"

	"bproc/wire"
)

// outputs are the ways of output from processes to their clients.
type outputs struct {
	mu  sync.Mutex
	all map[wire.PID]*output
}

// output is where the output of one process comes from and goes to.
type output struct {
	pipes  *pipes
	stream io.Closer
}

// add enters the output of a process. It stays until the function that is
// returned is called.
func (o *outputs) add(pid wire.PID, p *output) (remove func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[wire.PID]*output{}
	}
	o.all[pid] = p
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.all[pid] == p {
			delete(o.all, pid)
		}
	}
}

// hangUp ends the output of a process whose client has left. Its input goes on
// to its end: what the client wrote before it left is still to be read.
func (o *outputs) hangUp(pid wire.PID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.all[pid]; p != nil {
		p.pipes.closeOutput()
	}
}

// cut ends all streams without an end of file in them: the clients see that the
// node was lost to them, not that their processes have said all they had to say.
func (o *outputs) cut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.all {
		p.stream.Close()
	}
}

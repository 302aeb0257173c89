package slave

import (
	"sync"

	"bproc/wire"
)

// outputs are the pipes of the processes whose output goes to a client.
type outputs struct {
	mu    sync.Mutex
	pipes map[wire.PID]*pipes
}

// add enters the pipes of a process. They stay until the function that is
// returned is called.
func (o *outputs) add(pid wire.PID, p *pipes) (remove func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pipes == nil {
		o.pipes = map[wire.PID]*pipes{}
	}
	o.pipes[pid] = p
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.pipes[pid] == p {
			delete(o.pipes, pid)
		}
	}
}

// hangUp ends the output of a process whose client has left. Its input goes on
// to its end: what the client wrote before it left is still to be read.
func (o *outputs) hangUp(pid wire.PID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.pipes[pid]; p != nil {
		p.closeOutput()
	}
}

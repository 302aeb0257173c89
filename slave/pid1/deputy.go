package pid1

import (
	"context"
	"log/slog"
	"sync"

	"bproc/slave/pid1/supervise"
)

// deputy answers system calls in the place of the daemon while none is connected. A
// daemon has the listener too and answers from outside.
type deputy struct {
	log        *slog.Logger
	supervisor *supervise.Supervisor // nil: there is no listener

	mu      sync.Mutex
	changed sync.Cond // signalled when what is below changes
	daemons int       // that are there, or about to be told that they are
	running bool
	closed  bool
}

func (d *deputy) init(log *slog.Logger, s *supervise.Supervisor) {
	d.log, d.supervisor, d.changed.L = log, s, &d.mu
}

// dismiss leaves the answering to a daemon, and returns when the deputy has ended it.
func (d *deputy) dismiss() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.daemons++
	d.stopLocked()
	for d.running {
		d.changed.Wait()
	}
}

// recall is for when that daemon has gone.
func (d *deputy) recall() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.daemons--
	d.changed.Broadcast()
}

// close makes run return.
func (d *deputy) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.stopLocked()
	d.changed.Broadcast()
}

func (d *deputy) stopLocked() {
	if !d.running {
		return
	}
	if err := d.supervisor.Stop(); err != nil {
		d.log.Error("cannot leave system calls to the daemon", "err", err)
	}
}

// run supervises whenever there is no daemon, until close.
func (d *deputy) run(ctx context.Context) error {
	if d.supervisor == nil {
		return nil
	}
	for d.begin() {
		err := d.supervisor.Run(ctx)
		d.end()
		if err != nil {
			return err
		}
	}
	return nil
}

// begin waits until there is no daemon. It reports false after close.
func (d *deputy) begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.daemons > 0 && !d.closed {
		d.changed.Wait()
	}
	if d.closed {
		return false
	}
	if err := d.supervisor.Rearm(); err != nil {
		d.log.Error("supervisor", "err", err)
	}
	d.running = true
	return true
}

func (d *deputy) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = false
	d.changed.Broadcast()
}

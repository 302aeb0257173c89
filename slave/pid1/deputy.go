package pid1

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/supervise"
)

// deputy answers system calls in place of the daemon while none is connected. A daemon has the
// listener, too, and answers from outside. Calls that only a daemon can answer wait for it in the
// table of calls, which all share.
type deputy struct {
	log        *slog.Logger
	listener   int // of seccomp; -1: there is none, and no supervisor
	calls      int // descriptor of the table
	supervisor *supervise.Supervisor

	mu      sync.Mutex
	changed sync.Cond // signalled when the fields below change
	daemons int       // present, or about to be greeted
	running bool
	closed  bool
}

func (d *deputy) init(cfg Config, parents *supervise.Launched) (err error) {
	d.log, d.listener, d.changed.L = cfg.Log, cfg.Notify, &d.mu
	if d.listener < 0 {
		return nil
	}
	if d.calls, err = supervise.NewTable(); err != nil {
		return err
	}
	d.supervisor, err = supervise.New(supervise.Config{Listener: d.listener, Table: d.calls, Level: supervise.Inside, Launched: parents})
	if err != nil {
		return errors.Join(err, unix.Close(d.calls))
	}
	return nil
}

// closeFiles must be called after run.
func (d *deputy) closeFiles() error {
	if d.supervisor == nil {
		return nil
	}
	return errors.Join(d.supervisor.Close(), unix.Close(d.calls))
}

// tools returns the descriptors with which a daemon supervises.
func (d *deputy) tools() []int {
	if d.supervisor == nil {
		return nil
	}
	return []int{d.listener, d.calls}
}

// dismiss leaves the answering to a daemon. It returns when the deputy has stopped.
func (d *deputy) dismiss() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.daemons++
	d.stopLocked()
	for d.running {
		d.changed.Wait()
	}
}

// recall must be called when that daemon has gone.
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

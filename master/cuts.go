package master

import (
	"context"
	"sync"
	"time"

	"bproc/master/core"
)

// cuts tells the core of cuts of links, with one goroutine for all of them.
type cuts struct {
	wake chan struct{} // holds one value while there is something to tell

	mu      sync.Mutex
	known   map[*slaveConn]*connection
	changed map[*slaveConn]bool
}

func newCuts() *cuts {
	return &cuts{wake: make(chan struct{}, 1), known: map[*slaveConn]*connection{}, changed: map[*slaveConn]bool{}}
}

// watch has the core told about a link from now on. The core takes it to be up.
func (w *cuts) watch(c *slaveConn) {
	w.enter(c)
	c.session.Watch(func() { w.note(c) })
	w.note(c) // it may have been cut before
}

func (w *cuts) enter(c *slaveConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[c] = &connection{up: true}
}

// leave forgets a link.
func (w *cuts) leave(c *slaveConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, c)
}

// note notes that a link may have been cut or healed. It does not block.
func (w *cuts) note(c *slaveConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known[c] == nil {
		return
	}
	w.changed[c] = true
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run tells the core of changes until the context ends.
func (w *cuts) run(ctx context.Context) error {
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil
		}
		for c := range w.take() {
			if err := w.tell(ctx, c); err != nil {
				return nil // the master ends
			}
		}
	}
}

// take returns the links that have changed.
func (w *cuts) take() map[*slaveConn]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := w.changed
	w.changed = map[*slaveConn]bool{}
	return changed
}

// tell tells the core what has happened to the connection of a link since the last call.
func (w *cuts) tell(ctx context.Context, c *slaveConn) error {
	up, since, _ := c.session.Connected()
	healed, cut := w.is(c, up, since)
	if healed {
		if err := c.m.state.step(ctx, core.NodeHealed{Session: c.id, Certificate: core.Validity(c.session.Certificate())}); err != nil {
			return err
		}
	}
	if cut {
		return c.m.state.step(ctx, core.NodeCut{Session: c.id})
	}
	return nil
}

func (w *cuts) is(c *slaveConn, up bool, since time.Time) (healed, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.known[c]; known != nil {
		return known.is(up, since)
	}
	return false, false
}

// connection is what the core knows of a link's connection.
type connection struct {
	up    bool
	since time.Time
}

// is records whether there is a connection, and since when there is or is not, and returns what the
// core must be told. A connection that came and went unseen counts: the slave has heard from the
// master.
func (c *connection) is(up bool, since time.Time) (healed, cut bool) {
	moved := !since.Equal(c.since)
	healed, cut = moved && (up || !c.up), moved && !up
	c.up, c.since = up, since
	return healed, cut
}

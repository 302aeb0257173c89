package procfs

import (
	"context"
	"sync"
	"time"
)

// freshness is the greatest age of data for which nodes are not asked again, and the time for which
// the kernel caches names: data are at most twice as old.
const freshness = 500 * time.Millisecond

// rounds lets concurrent readers share one question to the nodes.
type rounds struct {
	wanted chan struct{} // a reader waits for the next round

	mu   sync.Mutex
	done chan struct{} // closed at the end of the pending or present round
	last time.Time     // end of the last one
}

func newRounds() *rounds {
	return &rounds{wanted: make(chan struct{}, 1), done: make(chan struct{})}
}

// refresh has the nodes asked if their data are too old, and waits for their answers until the
// context ends.
func (v *View) refresh(ctx context.Context) {
	v.rounds.mu.Lock()
	done := v.rounds.done
	fresh := time.Since(v.rounds.last) < freshness
	v.rounds.mu.Unlock()
	if fresh {
		return
	}
	select {
	case v.rounds.wanted <- struct{}{}:
	default:
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// refresher asks the nodes on demand, until the context ends.
func (v *View) refresher(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-v.rounds.wanted:
			v.ask(ctx, false)
		case <-v.strangers.wanted:
			q := v.strangers.begin()
			v.ask(ctx, true)
			close(q.done)
		}
		v.rounds.end()
	}
}

// end ends a round.
func (r *rounds) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.done)
	r.done = make(chan struct{})
	r.last = time.Now()
}

// answerTime bounds the wait for nodes with long answers. It leaves a reader a part of its
// patience.
const answerTime = patience * 9 / 10

// ask asks the nodes. Unless now is set they may answer with slightly older data. Nodes that do not
// answer in time are shown as they were.
func (v *View) ask(ctx context.Context, now bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := v.source.Refresh(ctx, now, v.apply); err != nil {
		v.log.Debug("nodes not asked", "err", err)
	}
}

package master

import (
	"context"
	"sync"
)

// worker does work that would keep the core from its inputs, one job at a time: a node that asks
// for much keeps only one processor busy. Those for whom it has jobs take turns.
type worker struct {
	wake chan struct{}

	mu    sync.Mutex
	turns []int64 // for whom there are jobs
	jobs  map[int64][]func()
}

func newWorker() *worker { return &worker{wake: make(chan struct{}, 1), jobs: map[int64][]func(){}} }

// add has a job done for somebody.
func (w *worker) add(whom int64, job func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.jobs[whom]) == 0 {
		w.turns = append(w.turns, whom)
	}
	w.jobs[whom] = append(w.jobs[whom], job)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// next returns the next job; nil: there is none.
func (w *worker) next() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.turns) == 0 {
		w.turns = nil
		return nil
	}
	whom := w.turns[0]
	w.turns = w.turns[1:]
	jobs := w.jobs[whom]
	if len(jobs) == 1 {
		delete(w.jobs, whom)
	} else {
		w.turns, w.jobs[whom] = append(w.turns, whom), jobs[1:]
	}
	return jobs[0]
}

// run works until the context ends.
func (w *worker) run(ctx context.Context) error {
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil
		}
		for job := w.next(); job != nil && ctx.Err() == nil; job = w.next() {
			job()
		}
	}
}

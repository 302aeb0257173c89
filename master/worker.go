package master

import (
	"context"
	"sync"
)

// worker does work that would keep the core from its inputs, one job at a time: a node that asks
// for much keeps only one processor busy.
type worker struct {
	wake chan struct{}

	mu   sync.Mutex
	jobs []func()
}

func newWorker() *worker { return &worker{wake: make(chan struct{}, 1)} }

// add has a job done.
func (w *worker) add(job func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs = append(w.jobs, job)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// next returns the next job; nil: there is none.
func (w *worker) next() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.jobs) == 0 {
		w.jobs = nil
		return nil
	}
	job := w.jobs[0]
	w.jobs = w.jobs[1:]
	return job
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

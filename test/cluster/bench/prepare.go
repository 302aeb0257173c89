package main

import (
	"context"
	"fmt"
	"time"

	"bproc/test/cluster"
)

// preparation is the work of a view for many processes before any program reads them.
type preparation struct {
	cost   float64       // processor time of the server, the master and the nodes, in milliseconds
	length time.Duration // from the server's start
}

// firstFigures are the very first listing of processes that the view has prepared, compared with
// the first listing of native processes.
func firstFigures(n int) []figure {
	first := func(value func(*sight) float64) func(context.Context, *bench) (float64, error) {
		return func(ctx context.Context, b *bench) (float64, error) {
			w, err := b.preparedSight(ctx, n)
			if err != nil {
				return 0, err
			}
			return value(w), nil
		}
	}
	base := fmt.Sprintf("ps.aux.first.native.%d", n)
	return []figure{
		{name: base, unit: "ms", runs: 1, measure: first(func(w *sight) float64 { return w.first.native })},
		{name: fmt.Sprintf("ps.aux.first.%d", n), unit: "ms", base: base, runs: 1, measure: first(func(w *sight) float64 { return w.first.inView })},
		{name: fmt.Sprintf("ps.aux.first.requests.%d", n), unit: "requests", runs: 1, measure: first(func(w *sight) float64 { return w.first.requests })},
	}
}

// ofPreparation returns a value of the preparation for a number of processes.
func ofPreparation(n int, value func(*preparation) float64) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		w, err := b.preparedSight(ctx, n)
		if err != nil {
			return 0, err
		}
		return value(w.prepared), nil
	}
}

// prepare replaces the lazy view by another one, which prepares itself, and lists all processes for
// the first time.
func (w *sight) prepare(ctx context.Context) (err error) {
	if err := w.endView(ctx); err != nil {
		return err
	}
	p := &preparation{}
	daemons, err := spent(w.machines, func() error {
		var err error
		if w.view, err = w.front.StartDaemon(ctx, true, "bpprocfs", viewDir); err != nil {
			return err
		}
		p.length, err = w.awaitPrepared()
		return err
	})
	if err != nil {
		return err
	}
	server, err := w.used()
	if err != nil {
		return err
	}
	p.cost = daemons.cpu + server
	if w.inView, err = talk(w.front.Command(ctx, cluster.Root, "bpns", "sh")); err != nil {
		return err
	}
	if w.first.native, err = w.native.run(coldLook); err != nil {
		return err
	}
	w.first.requests, err = w.requests(func() error {
		w.first.inView, err = w.inView.run(coldLook)
		return err
	})
	w.prepared = p
	return err
}

// A view is prepared when it had no requests for still, which is longer than it waits before it
// begins, but after mostPrepared at the latest.
const (
	still        = 6 * time.Second
	mostPrepared = 2 * time.Minute
)

// awaitPrepared returns the time from the server's start to its last request.
func (w *sight) awaitPrepared() (time.Duration, error) {
	begin := time.Now()
	last, changed := -1.0, begin
	for time.Since(changed) < still && time.Since(begin) < mostPrepared {
		reads, err := w.reads()
		if err != nil {
			return 0, err
		}
		if reads != last {
			last, changed = reads, time.Now()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return changed.Sub(begin), nil
}

package main

import (
	"context"
	"fmt"
	"time"
)

// lookFigures are programs that list many processes: remote ones in the view of the front end,
// compared with as many native ones on another machine; and the cost of the view's server. All
// processes are idle. The view is asked for fresh data each time. There are exactly as many
// processes as the figure says: those of smaller sizes have ended. The cost of the server is
// measured with the final number.
//
// Figures with "cold" are the very first listing of the processes, through a view that does nothing
// before (--lazy). Figures with "first" are the same through a view that has prepared itself, or
// has had two minutes for it. All others use that view. Figures with "requests" do not depend on
// other load of the machine: they count the kernel's requests to the server.
func lookFigures(sizes []int) []figure {
	var all []figure
	for _, n := range sizes {
		all = append(all, coldFigures(n)...)
		all = append(all, firstFigures(n)...)
		for _, l := range lookers {
			base := fmt.Sprintf("%s.native.%d", l.name, n)
			all = append(all,
				figure{name: base, unit: "ms", measure: look(n, 0, l.command, func(c *sight) *dialogue { return c.native })},
				figure{name: fmt.Sprintf("%s.%d", l.name, n), unit: "ms", base: base, measure: look(n, pause, l.command, func(c *sight) *dialogue { return c.inView })},
				figure{name: fmt.Sprintf("%s.requests.%d", l.name, n), unit: "requests", runs: 1, measure: requests(n, l.command)})
		}
	}
	most := sizes[len(sizes)-1]
	return append(all,
		figure{name: "procfs.prepare", unit: "ms", runs: 1, measure: ofPreparation(most, func(p *preparation) float64 { return p.cost / float64(most) })},
		figure{name: "procfs.prepare.time", unit: "s", runs: 1, measure: ofPreparation(most, func(p *preparation) float64 { return p.length.Seconds() })},
		figure{name: "procfs.memory", unit: "KiB", runs: 1, measure: viewMemory(most)},
		figure{name: "procfs.idle", unit: "ms/s", runs: 3, measure: viewTime(most, "sleep 2", 2)},
		figure{name: "procfs.top", unit: "ms/s", runs: 3, measure: viewTime(most, "top -b -n4 -d1", 3)})
}

// lookers are the programs; coldLook is the one that runs first.
var lookers = []struct{ name, command string }{
	{"ps.e", "ps -e"},
	{"ps.aux", coldLook},
	{"pgrep", "pgrep nosuchname"},
	{"top", "top -b -n1"},
}

const coldLook = "ps aux"

// coldFigures use new processes in each run. Making very many takes long.
func coldFigures(n int) []figure {
	base := fmt.Sprintf("ps.aux.cold.native.%d", n)
	runs := 0
	if n > 1000 {
		runs = 1
	}
	cold := func(value func(*sight) float64) func(context.Context, *bench) (float64, error) {
		return func(ctx context.Context, b *bench) (float64, error) {
			w, err := b.sightOf(ctx, n)
			if err != nil {
				return 0, err
			}
			return value(w), nil
		}
	}
	return []figure{
		{name: base, unit: "ms", runs: runs, measure: func(ctx context.Context, b *bench) (float64, error) {
			w, err := b.newSight(ctx, n)
			if err != nil {
				return 0, err
			}
			return w.cold.native, nil
		}},
		{name: fmt.Sprintf("ps.aux.cold.%d", n), unit: "ms", base: base, runs: runs, measure: cold(func(w *sight) float64 { return w.cold.inView })},
		{name: fmt.Sprintf("ps.aux.cold.requests.%d", n), unit: "requests", runs: 1, measure: cold(func(w *sight) float64 { return w.cold.requests })},
	}
}

// look measures a program after a time without listings.
func look(n int, rest time.Duration, command string, in func(*sight) *dialogue) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		w, err := b.preparedSight(ctx, n)
		if err != nil {
			return 0, err
		}
		time.Sleep(rest)
		return in(w).run(command)
	}
}

// requests counts the requests to the server while a program runs as in [look].
func requests(n int, command string) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		w, err := b.preparedSight(ctx, n)
		if err != nil {
			return 0, err
		}
		time.Sleep(pause)
		return w.requests(func() error {
			_, err := w.inView.run(command)
			return err
		})
	}
}

// viewMemory measures the memory of the view's server for each process.
func viewMemory(n int) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		w, err := b.preparedSight(ctx, n)
		if err != nil {
			return 0, err
		}
		with, err := w.memory()
		return (with - w.alone) / float64(n), err
	}
}

// viewTime measures the processor time of the server per second, while a command runs with a number
// of processes.
func viewTime(n int, command string, seconds float64) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		w, err := b.preparedSight(ctx, n)
		if err != nil {
			return 0, err
		}
		time.Sleep(2 * pause) // remaining work for the listing before
		before, err := w.used()
		if err != nil {
			return 0, err
		}
		if _, err := w.inView.run(command); err != nil {
			return 0, err
		}
		after, err := w.used()
		return (after - before) / seconds, err
	}
}

package main

import (
	"context"
	"fmt"
	"time"
)

// lookFigures are programs that look at many processes: remote ones in the view of
// the front end, compared with as many native ones on another machine; and what the
// server of the view costs. All processes are idle. The view is asked for fresh data
// each time. There are as many processes as a figure says, and no others: those of the sizes
// before have ended. What the server costs is with as many as there are in the end.
//
// Those with "cold" are the first look of all at the processes, by anybody, through a view
// that does nothing before (--lazy); those with "first" are the same through one that has
// prepared itself, or has had two minutes for it. All others are of that one. Those with
// "requests" do not depend on what else the machine does: how often the kernel has asked the
// server.
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

// lookers are the programs, coldLook is the one that looks first.
var lookers = []struct{ name, command string }{
	{"ps.e", "ps -e"},
	{"ps.aux", coldLook},
	{"pgrep", "pgrep nosuchname"},
	{"top", "top -b -n1"},
}

const coldLook = "ps aux"

// coldFigures are of new processes in each run. To make very many takes long.
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

// look is the time that a program takes, when nobody has looked for some time.
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

// requests is how often the server is asked while a program looks as in [look].
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

// viewMemory is what the server of the view has for each process.
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

// viewTime is the processor time of the server in each of some seconds, while a command
// runs among so many processes.
func viewTime(n int, command string, seconds float64) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		w, err := b.preparedSight(ctx, n)
		if err != nil {
			return 0, err
		}
		time.Sleep(2 * pause) // what is still done for the look before
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

package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// startFigures measure the start of commands. start.latency is the time of "bpsh 0 true" as its
// caller sees it. The figures below it are its parts: the time to run any Go program of that kind,
// to run true itself, and of one question and answer on the network. The rest is the ghost, the
// daemons and their wake-ups: start.cpu is the processor time of all daemons for one command, and
// start.switches the number of their wake-ups.
var startFigures = []figure{
	{name: "start.sh", unit: "ms", measure: latency("sh", "-c", "true")},
	{name: "start.latency", unit: "ms", base: "start.sh", measure: latency("bpsh", "0", "true")},
	{name: "start.latency.client", unit: "ms", base: "start.latency", measure: latency("bpsh", "--version")},
	{name: "start.latency.true", unit: "ms", base: "start.latency", measure: latency("true")},
	{name: "start.latency.network", unit: "ms", base: "start.latency", measure: roundTrip},
	{name: "start.latency.local", unit: "ms", base: "start.latency", measure: latency("bpsh", "-1", "true")},
	{name: "start.cpu", unit: "ms", measure: startEffort(func(e effort) float64 { return e.cpu })},
	{name: "start.switches", unit: "switches", measure: startEffort(func(e effort) float64 { return e.switches })},
	{name: "start.rate1", unit: "commands/s", measure: rate(1)},
	{name: "start.rate16", unit: "commands/s", measure: rate(16)},
	{name: "start.rate.native", unit: "commands/s", measure: launch("native", "64", "2000")},
	{name: "start.rate.client", unit: "commands/s", base: "start.rate.native", measure: launch("remote", "64", "2000")},
}

// samples is the number of commands in one run.
const samples = 300

// spawn starts commands on the front end, and returns the median time of one in microseconds, and
// how many have ended per second.
func spawn(ctx context.Context, b *bench, nodes, inflight int, argv ...string) (micros, rate float64, err error) {
	c, err := b.cluster(ctx, nodes)
	if err != nil {
		return 0, 0, err
	}
	spawner, err := program("spawn.c")
	if err != nil {
		return 0, 0, err
	}
	argv = append([]string{spawner, strconv.Itoa(samples), strconv.Itoa(inflight)}, argv...)
	text, err := output(ctx, c.Front, argv...)
	if err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscan(text, &micros, &rate)
	return micros, rate, err
}

func latency(argv ...string) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		micros, _, err := spawn(ctx, b, defaultNodes, 1, argv...)
		return micros / 1000, err
	}
}

func rate(inflight int) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		_, rate, err := spawn(ctx, b, defaultNodes, inflight, "bpsh", "@", "true")
		return rate, err
	}
}

// launch runs a measurement of this program on the front end.
func launch(args ...string) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		c, err := b.cluster(ctx, defaultNodes)
		if err != nil {
			return 0, err
		}
		argv, err := launcherArgv(args...)
		if err != nil {
			return 0, err
		}
		text, err := output(ctx, c.Front, argv...)
		if err != nil {
			return 0, err
		}
		var value float64
		_, err = fmt.Sscan(text, &value)
		return value, err
	}
}

// roundTrip measures one byte from the front end to a node and back.
func roundTrip(ctx context.Context, b *bench) (float64, error) {
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return 0, err
	}
	front, node, err := connect(ctx, c.Front, c.Nodes[0])
	if err != nil {
		return 0, err
	}
	defer front.Close()
	defer node.Close()
	echo := make(chan error, 1)
	go func() { echo <- bounce(node) }()
	begin := time.Now()
	one := make([]byte, 1)
	for range samples {
		if _, err := front.Write(one); err != nil {
			return 0, err
		}
		if _, err := front.Read(one); err != nil {
			return 0, err
		}
	}
	took := time.Since(begin)
	front.Close()
	return took.Seconds() * 1000 / samples, <-echo
}

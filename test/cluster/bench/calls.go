package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// callFigures are system calls of a remote process, compared with those of a process of the same
// machine outside of the space.
var callFigures = slices.Concat(
	pair("fork.wait", "us", 1e3, "fork", 4000),
	pair("vfork.exec", "us", 1e3, "vfork.exec", 500),
	pair("pthread.join", "us", 1e3, "pthread", 10000),
	pair("getppid", "us", 1e3, "getppid", 100000),
	pair("kill.self", "us", 1e3, "kill", 100000),
	pair("read1", "ns", 1, "read", 1000000),
	[]figure{
		{name: "fork.wait.1ms", unit: "us", base: "fork.wait.native", measure: forkFarAway},
		{name: "shloop.native", unit: "ms", measure: timed(native, shloop...)},
		{name: "shloop", unit: "ms", base: "shloop.native", measure: timed(remote, shloop...)},
		{name: "compile.native", unit: "ms", measure: compile(native)},
		{name: "compile", unit: "ms", base: "compile.native", measure: compile(remote)},
	},
)

// shloop is a loop of a shell over a command that does nothing.
var shloop = []string{"sh", "-c", "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done"}

// where runs a command on node 0, in the space or outside, and returns its output.
type where func(ctx context.Context, b *bench, argv ...string) (string, error)

func native(ctx context.Context, b *bench, argv ...string) (string, error) {
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return "", err
	}
	return output(ctx, c.Nodes[0], argv...)
}

func remote(ctx context.Context, b *bench, argv ...string) (string, error) {
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return "", err
	}
	return output(ctx, c.Front, append([]string{"bpsh", "0"}, argv...)...)
}

// pair returns a figure of calls.c and its base. The program prints nanoseconds; nanoseconds is
// their number in a unit.
func pair(name, unit string, nanoseconds float64, what string, count int) []figure {
	measure := func(on where) func(context.Context, *bench) (float64, error) {
		return func(ctx context.Context, b *bench) (float64, error) {
			program, err := program("calls.c")
			if err != nil {
				return 0, err
			}
			text, err := on(ctx, b, program, what, strconv.Itoa(count))
			if err != nil {
				return 0, err
			}
			var value float64
			_, err = fmt.Sscan(text, &value)
			return value / nanoseconds, err
		}
	}
	base := name + ".native"
	return []figure{
		{name: base, unit: unit, measure: measure(native)},
		{name: name, unit: unit, base: base, measure: measure(remote)},
	}
}

// timed measures a command, in milliseconds.
func timed(on where, argv ...string) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		begin := time.Now()
		_, err := on(ctx, b, argv...)
		return time.Since(begin).Seconds() * 1000, err
	}
}
